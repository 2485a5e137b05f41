package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"c2c/broker"
	"c2c/inbox"
)

func list(fs *flag.FlagSet) action {
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, _ []string) error {
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			rows, err := b.List(ctx)
			if err != nil {
				return err
			}
			if *asJSON {
				return errors.Join(a.json(rows), broken(rows))
			}
			w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "ALIAS\tSTATE\tMAIL\tCLIENT\tRING\tSESSION\tROLE")
			for _, r := range rows {
				mail := "-"
				if r.Waiting {
					mail = "waits"
				}
				if r.Error != "" {
					mail = "broken"
				}
				ring := "-"
				if r.LastRing.Outcome != "" {
					ring = r.LastRing.Outcome + " " + r.LastRing.Method
				}
				row := []string{r.Alias, string(r.State), mail, r.Client, ring, r.ID, r.Role}
				for i, cell := range row {
					row[i] = inbox.Visible(cell, "")
				}
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
			return errors.Join(w.Flush(), broken(rows))
		})
	}
}

// broken tells of the mailboxes that could not be looked into.
func broken(rows []broker.Listed) error {
	var errs []error
	for _, r := range rows {
		if r.Error != "" {
			errs = append(errs, fmt.Errorf("look into the mailbox of %s: %s", r.Alias, r.Error))
		}
	}
	return errors.Join(errs...)
}

func (a *app) printSession(s broker.Session, asJSON bool) error {
	if asJSON {
		return a.json(map[string]string{"session_id": s.ID, "alias": s.Alias})
	}
	a.printf("%s (session %s)\n", s.Alias, s.ID)
	return nil
}

func whoami(fs *flag.FlagSet) action {
	asJSON := fs.Bool("json", false, "print JSON")
	sid := fs.String("session-id", "", "`session` or alias, if not this one")
	return func(ctx context.Context, a *app, _ []string) error {
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			s, err := b.Resolve(ctx, a.caller(*sid))
			if err != nil {
				return err
			}
			return a.printSession(s, *asJSON)
		})
	}
}

func register(fs *flag.FlagSet) action {
	asJSON := fs.Bool("json", false, "print JSON")
	sid := fs.String("session-id", "", "`session` to register, if not this one")
	role := fs.String("role", "", "what it does, in a few `words`")
	var unattended *bool
	fs.BoolFunc("unattended", "wake it without a terminal, too; =false ends that", func(s string) error {
		on, err := strconv.ParseBool(s)
		unattended = &on
		return err
	})
	return func(ctx context.Context, a *app, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%w: one alias at most", errUsage)
		}
		alias := ""
		if len(args) == 1 {
			alias = args[0]
		}
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			s, err := b.Register(ctx, a.caller(*sid), alias)
			if err != nil {
				return err
			}
			if err := b.Describe(ctx, s.ID, *role); err != nil {
				return err
			}
			if unattended != nil {
				if err := b.SetUnattended(ctx, s.ID, *unattended); err != nil {
					return err
				}
			}
			return a.printSession(s, *asJSON)
		})
	}
}

func sendAll(fs *flag.FlagSet) action {
	var f letterFlags
	f.register(fs)
	return func(ctx context.Context, a *app, args []string) error {
		return f.send(ctx, a, args, func(ctx context.Context, b *broker.Broker, from broker.Session) error {
			sent, skipped, err := b.SendAll(ctx, from, f.letter)
			if err != nil && len(sent) == 0 {
				return err
			}
			if f.json {
				a.json(map[string]any{"sent": append([]broker.Receipt{}, sent...), "skipped": append([]broker.Skipped{}, skipped...)})
				return err
			}
			for _, r := range sent {
				a.printReceipt(r)
			}
			for _, s := range skipped {
				fmt.Fprintf(a.stderr, "c2c: not sent to %s: %s\n", inbox.Visible(s.Alias, ""), s.Reason)
			}
			return err
		})
	}
}
