package main

import (
	"context"
	"fmt"
	"strings"

	"c2c/cmd/cli"
	"c2c/inbox"
)

// completion prints the script of a shell.
func completion(c *call, _ *cli.Flags) action {
	return func(context.Context) error {
		script, ok := cli.CompletionScript(strings.Join(c.words, " "))
		if !ok {
			return fmt.Errorf("%w: for which shell? bash, zsh or fish", errUsage)
		}
		fmt.Fprint(c.stdout, script)
		return nil
	}
}

// completeVerb is what these scripts call at each Tab.
const completeVerb = "__complete"

// complete answers it. What goes wrong is not told: it would stand in the line that is being typed.
func (a *app) complete(ctx context.Context, words []string) {
	choices, files := cli.Complete(words, func() []cli.Choice { return a.sessions(ctx) })
	fmt.Fprint(a.stdout, cli.Lines(choices, files))
}

// sessions are those that an alias may name. Others may have written the registry, and a shell is to see nothing that
// means something to it: so what is no alias is left out.
func (a *app) sessions(ctx context.Context) (choices []cli.Choice) {
	if a.needRoot() != nil {
		return nil
	}
	b, err := a.open()
	if err != nil {
		return nil
	}
	defer b.Close()
	all, err := b.Sessions(ctx)
	if err != nil {
		return nil
	}
	for _, s := range all {
		if inbox.CheckAlias(s.Alias) == nil {
			choices = append(choices, cli.Choice{Word: s.Alias, Says: inbox.Visible(strings.TrimSpace(s.Client+" "+string(s.State)), "")})
		}
	}
	return choices
}
