# c2c for fish: c2c completion fish | source
function __c2c
    set -l words (commandline -opc)
    for line in ($words[1] __complete $words[2..] "$(commandline -ct)" 2>/dev/null)
        if test "$line" = :
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c c2c -f -a '(__c2c)'
