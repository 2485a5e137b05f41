package main

import (
	"context"
	"fmt"
	"strings"

	"c2c/cmd/cli"
)

// completion prints a script that completes the commands and, behind send, the aliases.
func completion(c *call, _ *cli.Flags) action {
	return func(context.Context) error {
		// A registry that others wrote may have any alias: the shell must not run a part of one.
		const list = `c2c list 2>/dev/null | sed -n '1d; s/^\([A-Za-z0-9_][A-Za-z0-9._-]*\) .*/\1/p'`
		const aliases = "$(" + list + ")"
		words := strings.Join(cli.VerbNames(), " ")
		switch strings.Join(c.words, " ") {
		case "bash":
			fmt.Fprintf(c.stdout, `_c2c() {
	local words
	case $COMP_CWORD:${COMP_WORDS[1]} in
	1:*) words='%s' ;;
	2:send) words="%s" ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _c2c c2c
`, words, aliases)
		case "zsh":
			fmt.Fprintf(c.stdout, `#compdef c2c
case $CURRENT:$words[2] in
2:*) compadd -- %s ;;
3:send) compadd -- %s ;;
*) _files ;;
esac
`, words, aliases)
		case "fish":
			fmt.Fprintf(c.stdout, "complete -c c2c -n __fish_use_subcommand -f -a '%s'\n"+
				"complete -c c2c -n '__fish_seen_subcommand_from send' -f -a \"(%s)\"\n", words, strings.ReplaceAll(list, `\`, `\\`))
		default:
			return fmt.Errorf("%w: for which shell? bash, zsh or fish", errUsage)
		}
		return nil
	}
}
