package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"c2c/broker/moves"
	"c2c/cmd/cli"
)

// takeOver moves the alias and the mail of a gone session to another session.
func takeOver(c *call, f *cli.Flags) action {
	force, dry := f.Bool("force"), f.Bool("dry-run")
	return func(ctx context.Context) error {
		if len(c.words) != 2 {
			return fmt.Errorf("%w: which session is gone, and which session continues its work?", errUsage)
		}
		t, err := moves.TakeOver(ctx, c.b.Registry, c.words[0], c.words[1], *force, *dry)
		if errors.Is(err, moves.ErrRuns) {
			return cli.WithHint(err, "end it first; --force takes its name and its mail even so")
		}
		if err != nil {
			return err
		}
		return c.show(t, func() { c.printTakeover(t, *dry) })
	}
}

func (c *call) printTakeover(t moves.Takeover, dry bool) {
	does := "is"
	if dry && !t.Again {
		does = "would be"
	}
	told := "nobody"
	if len(t.Told) > 0 {
		told = strings.Join(t.Told, ", ")
	}
	c.printf("%s %s %s from now on\n", t.Former, does, t.Alias)
	if !t.Again {
		c.printf("unread messages that it gets: %d; told of it: %s\n", t.Waiting, told)
	}
	if t.Late {
		c.printf("some mail is in use and comes with its next call\n")
	}
	c.printf("what %s had read: c2c history --session-id %s\n", t.Alias, t.From)
}
