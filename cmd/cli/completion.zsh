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
