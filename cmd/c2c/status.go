package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"c2c/broker"
)

func status(fs *flag.FlagSet) action {
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%w: which message?", errUsage)
		}
		if err := broker.CheckID(args[0]); err != nil {
			return fmt.Errorf("%w: %v", errUsage, err)
		}
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			s, err := b.Status(ctx, args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return a.json(s)
			}
			for _, s := range append([]broker.MessageStatus{s}, s.Others...) {
				a.printStatus(s)
			}
			return nil
		})
	}
}

func (a *app) printStatus(s broker.MessageStatus) {
	by := ""
	if s.By != "" {
		by = " by " + s.By
	}
	a.printf("%s: %s%s at %s (%s to %s)\n", s.ID, s.State, by, s.At.Local().Format(time.RFC3339), s.From, s.To)
	if r := s.LastRing; r.Cause != "" {
		a.printf("  the ring by %s at %s: %s: %s\n", r.Method, r.At.Format(time.RFC3339), r.Outcome, r.Cause)
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
				s, err = b.Stale(ctx, *grace)
			} else {
				s, err = b.Sweep(ctx, *grace)
			}
			if err != nil {
				return err
			}
			if *asJSON {
				return errors.Join(a.json(s), s.Err())
			}
			for _, gone := range s.Sessions {
				a.printf("%s (session %s)\n", gone.Alias, gone.ID)
			}
			if *dry {
				a.printf("sessions that would be dropped (--dry-run): %d\n", len(s.Sessions))
				return nil
			}
			for _, m := range s.Mailboxes {
				a.printf("new dead letters of session %s: %d\n", m.SessionID, m.Messages)
			}
			a.printf("sessions dropped: %d, new dead letters: %d\n", len(s.Sessions), s.Messages)
			return s.Err()
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
				a.printf("# session %s\n", d.SessionID)
				fmt.Fprintln(a.stdout, d.Message.Envelope())
			}
			return nil
		})
	}
}
