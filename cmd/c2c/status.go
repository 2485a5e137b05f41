package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"c2c/broker"
	"c2c/wake"
)

type statusJSON struct {
	ID        string    `json:"message_id"`
	State     string    `json:"state"`
	At        time.Time `json:"at"`
	By        string    `json:"by,omitempty"`
	SessionID string    `json:"session_id"`
	From      string    `json:"from_alias"`
	To        string    `json:"to_alias"`
	LastRing  wake.Ring `json:"last_ring,omitzero"`
}

func status(fs *flag.FlagSet) action {
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%w: which message?", errUsage)
		}
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			s, err := b.Status(ctx, args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return a.json(statusJSON{s.ID, s.State, s.At.UTC(), s.By, s.SessionID, s.From, s.To, s.LastRing})
			}
			by := ""
			if s.By != "" {
				by = " by " + s.By
			}
			_, err = fmt.Fprintf(a.stdout, "%s: %s%s at %s (%s to %s)\n", s.ID, s.State, by,
				s.At.Format(time.RFC3339), s.From, s.To)
			if r := s.LastRing; err == nil && r.Cause != "" {
				_, err = fmt.Fprintf(a.stdout, "  the ring by %s at %s: %s: %s\n", r.Method, r.At.Format(time.RFC3339), r.Outcome, r.Cause)
			}
			return err
		})
	}
}

func sweep(fs *flag.FlagSet) action {
	grace := fs.Duration("grace", 7*24*time.Hour, "leave sessions that were used within this `duration`")
	dry := fs.Bool("dry-run", false, "show the sessions that would go, and change nothing")
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, _ []string) error {
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			var s broker.Swept
			var err error
			if *dry {
				s.Sessions, err = b.Stale(ctx, *grace)
			} else {
				s, err = b.Sweep(ctx, *grace)
			}
			if err != nil {
				return err
			}
			if *asJSON {
				rows := []map[string]string{}
				for _, gone := range s.Sessions {
					rows = append(rows, map[string]string{"session_id": gone.ID, "alias": gone.Alias})
				}
				return a.json(map[string]any{"dropped_regs": rows, "preserved_messages": s.Messages})
			}
			for _, gone := range s.Sessions {
				fmt.Fprintf(a.stdout, "%s (session %s)\n", gone.Alias, gone.ID)
			}
			if *dry {
				_, err = fmt.Fprintf(a.stdout, "%d sessions would be dropped (--dry-run)\n", len(s.Sessions))
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%d sessions dropped, %d messages are dead letters now\n", len(s.Sessions), s.Messages)
			return err
		})
	}
}

func deadLetter(fs *flag.FlagSet) action {
	limit := fs.Int("limit", 50, "at the most this `number`; 0 is all")
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, _ []string) error {
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			dead, err := b.DeadLetters(ctx, *limit)
			if err != nil {
				return err
			}
			if *asJSON {
				if dead == nil {
					dead = []broker.DeadLetter{}
				}
				return a.json(dead)
			}
			for _, d := range dead {
				fmt.Fprintf(a.stdout, "# session %s\n%s\n", d.SessionID, d.Message.Envelope())
			}
			return nil
		})
	}
}
