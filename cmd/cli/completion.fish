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

# With C2C_ANNOUNCE=1 your mail is announced at the next prompt.
if test "$C2C_ANNOUNCE" = 1
    function __c2c_mail --on-event fish_prompt
        if c2c poll-inbox --check >/dev/null 2>&1
            set -q __c2c_told; or echo 'c2c: you have mail: c2c poll-inbox'
            set -g __c2c_told 1
        else
            set -e __c2c_told
        end
    end
end
