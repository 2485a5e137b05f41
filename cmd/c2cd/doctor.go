package main

import (
	"context"
	"flag"
	"fmt"

	"c2c/broker"
	"c2c/install"
)

// doctor looks at the root and at each client's configuration, and changes nothing.
func (a *app) doctor(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	fs.SetOutput(a.stderr)
	trip := fs.Bool("roundtrip", false, "also send a message to itself, by the hook and by the MCP server")
	if rest, err := words(fs, args); err != nil || len(rest) > 0 {
		return fmt.Errorf("%w: c2c doctor takes --roundtrip and nothing else", errUsage)
	}
	root, source, err := broker.FindRoot(a.getenv, a.cwd)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "ok       root %s (from %s)\n", root, source)
	problems := 0
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		problems++
		fmt.Fprintf(a.stdout, "problem  root: %v\n", err)
	} else {
		defer b.Close()
	}
	o, err := a.options(false)
	if err != nil {
		return err
	}
	for _, client := range install.Detect(o) {
		findings, err := install.Inspect(client, o)
		if err != nil {
			return err
		}
		for _, f := range findings {
			if f.Status == install.Problem {
				problems++
			}
			fmt.Fprintf(a.stdout, "%-8s %s %s: %s (%s)\n", f.Status, client, f.Part, f.Detail, f.Path)
		}
	}
	if *trip {
		if err := a.roundtrip(ctx); err != nil {
			problems++
			fmt.Fprintf(a.stdout, "problem  round trip: %v\n", err)
		} else {
			fmt.Fprintln(a.stdout, "ok       round trip: sent, taken by the hook and by poll_inbox, read")
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d problems", problems)
	}
	return nil
}
