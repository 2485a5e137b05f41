package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"c2c/broker"
)

// age is a duration, in days too: 90d.
func age(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("it is negative")
	}
	return d, err
}

func prune(fs *flag.FlagSet) action {
	var older time.Duration
	fs.Func("older", "remove what is older than this `age`: 90d, 2160h", func(s string) (err error) {
		older, err = age(s)
		return err
	})
	dry := fs.Bool("dry-run", false, "show what would go, and change nothing")
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, _ []string) error {
		if older == 0 {
			return fmt.Errorf("%w: how old? --older 90d", errUsage)
		}
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			p, err := b.Prune(ctx, older, *dry)
			if *asJSON {
				return errors.Join(err, a.json(p))
			}
			verb := "removed"
			if *dry {
				verb = "would remove"
			}
			a.printf("%s archive files: %d (%d bytes), dead letters: %d (%d bytes),\n", verb, p.Archives.Count, p.Archives.Bytes,
				p.DeadLetters.Count, p.DeadLetters.Bytes)
			a.printf("sessions that are gone: %d (files: %d, %d bytes), client ids: %d\n", p.Sessions, p.Files.Count, p.Files.Bytes,
				p.ClientIDs.Count)
			return err
		})
	}
}
