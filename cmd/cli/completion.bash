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
