package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"text/tabwriter"

	"c2c/broker"
	"c2c/wake"
)

type sessionJSON struct {
	ID      string `json:"session_id"`
	Alias   string `json:"alias"`
	Client  string `json:"client,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Role    string `json:"role,omitempty"`
	State   string `json:"state"`
	Waiting bool   `json:"waiting"`

	LastRing wake.Ring `json:"last_ring,omitzero"`
}

func list(fs *flag.FlagSet) action {
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, _ []string) error {
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			sessions, err := b.Sessions(ctx)
			if err != nil {
				return err
			}
			waiting, err := b.Waiting(sessions)
			if err != nil {
				return err
			}
			rows := []sessionJSON{}
			for _, s := range sessions {
				rows = append(rows, sessionJSON{s.ID, s.Alias, s.Client, s.PID, s.Role, string(s.State), waiting[s.ID], s.LastRing})
			}
			if *asJSON {
				return a.json(rows)
			}
			out := bufio.NewWriter(a.stdout) // the tabwriter writes every cell and every blank by itself
			w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "ALIAS\tSTATE\tMAIL\tCLIENT\tRING\tSESSION\tROLE")
			for _, r := range rows {
				mail := "-"
				if r.Waiting {
					mail = "waits"
				}
				ring := "-"
				if r.LastRing.Outcome != "" {
					ring = r.LastRing.Outcome + " " + r.LastRing.Method
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Alias, r.State, mail, r.Client, ring, r.ID, r.Role)
			}
			return errors.Join(w.Flush(), out.Flush())
		})
	}
}

func (a *app) printSession(s broker.Session, asJSON bool) error {
	if asJSON {
		return a.json(map[string]string{"session_id": s.ID, "alias": s.Alias})
	}
	_, err := fmt.Fprintf(a.stdout, "%s (session %s)\n", s.Alias, s.ID)
	return err
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
			return a.printSession(s, *asJSON)
		})
	}
}

func sendAll(fs *flag.FlagSet) action {
	var f letterFlags
	f.register(fs)
	return func(ctx context.Context, a *app, args []string) error {
		if err := f.complete(a, args); err != nil {
			return err
		}
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			from, err := a.session(ctx, b, f.from)
			if err != nil {
				return err
			}
			sent, skipped, err := b.SendAll(ctx, from, f.letter)
			if err != nil {
				return err
			}
			if f.json {
				out := []receiptJSON{}
				for _, r := range sent {
					out = append(out, receiptOf(r))
				}
				left := []map[string]string{}
				for _, s := range skipped {
					left = append(left, map[string]string{"alias": s.Alias, "reason": s.Reason})
				}
				return a.json(map[string]any{"sent": out, "skipped": left})
			}
			for _, r := range sent {
				if err := a.printReceipt(r); err != nil {
					return err
				}
			}
			for _, s := range skipped {
				fmt.Fprintf(a.stderr, "c2c: not sent to %s: %s\n", s.Alias, s.Reason)
			}
			return nil
		})
	}
}
