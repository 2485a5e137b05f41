package main

import (
	"context"
	"errors"

	"c2c/broker/moves"
	"c2c/cmd/cli"
)

func sweep(c *call, f *cli.Flags) action {
	grace := f.Duration("grace")
	dry := f.Bool("dry-run")
	return func(ctx context.Context) (err error) {
		var s moves.Swept
		if *dry {
			s, err = moves.Stale(ctx, c.b.Registry, *grace)
		} else {
			s, err = moves.Sweep(ctx, c.b.Registry, *grace)
		}
		if err != nil {
			return err
		}
		return errors.Join(s.Err(), c.show(s, func() {
			for _, gone := range s.Sessions {
				c.printf("%s (session %s)\n", gone.Alias, gone.ID)
			}
			if *dry {
				c.printf("sessions that would be dropped (--dry-run): %d\n", len(s.Sessions))
				return
			}
			for _, m := range s.Mailboxes {
				c.printf("new dead letters of session %s: %d\n", m.SessionID, m.Messages)
			}
			c.printf("sessions dropped: %d, new dead letters: %d\n", len(s.Sessions), s.Messages)
		}))
	}
}
