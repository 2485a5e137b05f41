package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"c2c/broker"
)

// keep acts on what is due in the root, if no server does. A command that answers something else fails for no reason
// of that.
func (c *call) keep(ctx context.Context) {
	if err := c.b.KeepOnce(ctx); err != nil && !errors.Is(err, syscall.EROFS) && !errors.Is(err, fs.ErrPermission) {
		fmt.Fprintf(c.stderr, "c2c: look after what messages are owed: %v\n", err)
	}
}

// printOwed says what a message is owed, and what its sender was told.
func (c *call) printOwed(s broker.MessageStatus) {
	clock := func(t time.Time) string { return t.Local().Format(time.RFC3339) }
	if !s.ExpiresAt.IsZero() && s.State != broker.Expired && s.State != broker.Read {
		c.printf("  it expires at %s\n", clock(s.ExpiresAt))
	}
	if !s.NotBefore.IsZero() {
		c.printf("  it is not handed over before %s\n", clock(s.NotBefore))
	}
	if s.Reason != "" {
		c.printf("  %s\n", s.Reason)
	}
	for _, t := range s.Told {
		c.printf("  %s was told at %s: %s\n", s.From, clock(t.At), t.Reason)
	}
}
