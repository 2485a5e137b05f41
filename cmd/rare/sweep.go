package rare

import (
	"context"
	"errors"

	"c2c/broker"
)

func (c *call) sweep() verb {
	grace := c.Duration("grace")
	dry := c.Bool("dry-run")
	do := func(ctx context.Context) (err error) {
		var s broker.Swept
		if *dry {
			s, err = c.b.Stale(ctx, *grace)
		} else {
			s, err = c.b.Sweep(ctx, *grace)
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
	return verb{do, func() (any, error) { return broker.Swept{Sessions: []broker.SweptSession{}}, nil }}
}
