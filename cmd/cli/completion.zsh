#compdef c2c
# c2c for zsh: source <(c2c completion zsh), behind compinit
_c2c() {
	local line
	local -a found
	for line in "${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		'') ;;
		:) _files ;;
		*) found+=("${line%%$'\t'*}:${line#*$'\t'}") ;;
		esac
	done
	(( $#found )) && _describe c2c found
}
if [ "$funcstack[1]" = _c2c ]; then _c2c; else compdef _c2c c2c; fi

# With C2C_ANNOUNCE=1 your mail is announced at the next prompt.
_c2c_mail() {
	if c2c poll-inbox --check >/dev/null 2>&1; then
		[[ -n $_c2c_told ]] || print 'c2c: you have mail: c2c poll-inbox'
		_c2c_told=1
	else
		_c2c_told=
	fi
}
if [[ $C2C_ANNOUNCE == 1 ]]; then autoload -Uz add-zsh-hook; add-zsh-hook precmd _c2c_mail; fi
