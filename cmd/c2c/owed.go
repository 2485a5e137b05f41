package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/proc"
	"c2c/sessions"
)

// meetDeadlines acts on due deadlines of the root, unless a lasting process such as a server does
// that. Usually no deadline is due. An error is only printed, so that the command continues.
func (c *call) meetDeadlines(ctx context.Context) {
	if !owed.MayBeDue(c.b.Registry) {
		return
	}
	err := broker.NewChecker(c.b, c.showOnDesktop).LookOnce(ctx)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return // a sandbox may forbid it; another process does it
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "c2c: check deadlines: %v\n", err)
		return
	}
	if err := broker.StartRelay(c.b); err != nil && !errors.Is(err, broker.ErrRelayStopped) {
		fmt.Fprintf(c.stderr, "c2c: the relay is not started; c2c relay status says why: %v\n", err)
	}
}

func (a *app) showOnDesktop(ctx context.Context, text string) error {
	return proc.ShowOnDesktop(ctx, a.getenv, text)
}

// printOwed prints the deadlines of a message, why it is held or waits, and the notices that its
// sender has got.
func (c *call) printOwed(s broker.MessageStatus) {
	if !s.ExpiresAt.IsZero() && s.State != owed.Expired && s.State != sessions.Read {
		c.printf("  it expires at %s\n", clock(s.ExpiresAt))
	}
	if !s.Asked.Due.IsZero() {
		c.printf("  it asks for an answer by %s (%s); c2c thread %s shows whether one came\n", clock(s.Asked.Due), s.Bucket, mail.ShortID(s.ID))
	}
	switch {
	case s.Held:
		c.printf("  it is held until %s: these two sessions have answered each other too often without any work in between; c2c resume %s %s lets them go on now\n",
			clock(s.NotBefore), s.From, s.To)
	case !s.NotBefore.IsZero():
		c.printf("  it is not handed over before %s\n", clock(s.NotBefore))
	}
	if s.Reason != "" {
		c.printf("  %s\n", s.Reason)
	}
	for _, t := range s.Told {
		c.printf("  notice to %s at %s: %s\n", s.From, clock(t.At), t.Reason)
	}
}

// letGoOn lets two agents continue after the loop guard has stopped them. Only a person may do
// this: if a text of c2c tells a model about this command, the model runs it.
func letGoOn(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		if len(c.words) != 2 {
			return fmt.Errorf("%w: which two sessions?", errUsage)
		}
		s, err := c.b.Attach(ctx, c.caller(""))
		if err := cli.OnlyPerson("lets agents go on", s, err); err != nil {
			return err
		}
		held, err := broker.Resume(ctx, c.b.Registry, c.words[0], c.words[1])
		if err != nil {
			return err
		}
		return c.show(map[string]any{"aliases": c.words, "held": held}, func() {
			c.printf("%s and %s go on; messages that were held: %d\n", c.words[0], c.words[1], held)
		})
	}
}
