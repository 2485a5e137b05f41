package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
)

func status(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		id, err := c.messageID()
		if err != nil {
			return err
		}
		c.keep()
		found, err := c.b.Status(ctx, id)
		if errors.Is(err, broker.ErrNoMessage) {
			err = cli.WithHint(err, "c2c outbox shows the ids of what you have sent")
		}
		if err != nil {
			return err
		}
		return c.show(found, func() {
			for _, s := range append([]broker.MessageStatus{found}, found.Others...) {
				by := ""
				if s.By != "" {
					by = " by " + s.By
				}
				c.printf("%s: %s%s at %s (%s to %s)\n", inbox.ShortID(s.ID), s.State, by, clock(s.At), s.From, s.To)
				c.printf("  %s\n", s.Sentence())
				c.printOwed(s)
				if s.Do != "" {
					c.printf("  %s\n", s.Do)
				}
			}
		})
	}
}

// messageID is the only word: the id of a message, or a part of it.
func (c *call) messageID() (string, error) {
	if len(c.words) != 1 {
		return "", fmt.Errorf("%w: which message?", errUsage)
	}
	if err := broker.CheckID(c.words[0]); err != nil {
		return "", fmt.Errorf("%w: %w", errUsage, err)
	}
	return c.words[0], nil
}

func checkLimit(n int) error {
	if n < 0 {
		return fmt.Errorf("%w: --limit %d: want 0 for all, or more", errUsage, n)
	}
	return nil
}

func deadLetter(c *call, f *cli.Flags) action {
	limit := f.Int("limit")
	return func(ctx context.Context) error {
		if err := checkLimit(*limit); err != nil {
			return err
		}
		dead, err := c.b.DeadLetters(ctx, *limit)
		if err != nil {
			return err
		}
		return c.show(append([]broker.DeadLetter{}, dead...), func() {
			if len(dead) == 0 {
				c.printf("(no dead letters)\n")
			}
			for _, d := range dead {
				why := ""
				if d.Reason != "" {
					why = ": " + d.Reason
				}
				c.printf("# session %s%s\n", d.SessionID, why)
				fmt.Fprintln(c.stdout, d.Message.EnvelopeAt(time.Now()))
			}
		})
	}
}
