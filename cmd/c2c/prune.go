package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"c2c/broker/moves"
	"c2c/cmd/cli"
	"c2c/project"
	"c2c/sessions/callers"
)

var errAge = errors.New("want an age such as 90d or 2160h")

// parseAge parses a duration. Unlike time.ParseDuration it also takes days: 90d.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errAge
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errAge
	}
	return d, nil
}

func prune(c *call, f *cli.Flags) action {
	var older time.Duration
	f.Func("older", func(s string) (err error) {
		older, err = parseAge(s)
		return err
	})
	dry := f.Bool("dry-run")
	return func(ctx context.Context) error {
		if older == 0 {
			return fmt.Errorf("%w: how old? --older 90d", errUsage)
		}
		state, _ := project.StateDir(c.getenv)
		p, err := moves.Prune(ctx, c.b.Registry, older, callers.Pointers(state), *dry)
		return errors.Join(err, c.show(p, func() {
			verb := "removed"
			if *dry {
				verb = "would remove"
			}
			c.printf("%s archive files: %d (%d bytes), dead letters: %d (%d bytes),\n", verb, p.Archives.Count, p.Archives.Bytes,
				p.DeadLetters.Count, p.DeadLetters.Bytes)
			c.printf("sessions that are gone: %d (files: %d, %d bytes), client ids: %d, pointers: %d\n", p.Sessions, p.Files.Count, p.Files.Bytes,
				p.ClientIDs.Count, p.Pointers.Count)
		}))
	}
}
