# c2c for bash: source <(c2c completion bash)
_c2c() {
	local word rest
	COMPREPLY=()
	while IFS=$'\t' read -r word rest; do
		if [ "$word" = : ]; then
			compopt -o default 2>/dev/null
		else
			COMPREPLY+=("$word")
		fi
	done < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _c2c c2c

# With C2C_ANNOUNCE=1 your mail is announced at the next prompt.
_c2c_mail() {
	local status=$?
	if c2c poll-inbox --check >/dev/null 2>&1; then
		[ -n "$_c2c_told" ] || echo 'c2c: you have mail: c2c poll-inbox'
		_c2c_told=1
	else
		_c2c_told=
	fi
	return "$status"
}
case $C2C_ANNOUNCE,$PROMPT_COMMAND in
1,*_c2c_mail*) ;;
1,*) PROMPT_COMMAND=_c2c_mail${PROMPT_COMMAND:+;$PROMPT_COMMAND} ;;
esac
