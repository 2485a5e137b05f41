package watch

import (
	"context"
	"time"
)

// Each calls look now, when one of the files that it names was closed by a writer, when the time is over that it gives
// (0: none), and once a minute; once a second while one of the files cannot be watched. Between two calls is a gap, at the
// least. The files should exist.
func (c *Changes) Each(ctx context.Context, gap time.Duration, look func() (files []string, wait time.Duration, err error)) error {
	s := c.subscribe("")
	defer s.Close()
	for {
		files, wait, err := look()
		if err != nil {
			return err
		}
		before, every := len(s.ids), s.every
		for _, file := range files {
			if !s.add(file) { // each time: one that was removed may be there again, as another file
				every = pollEvery
			}
		}
		switch {
		case len(s.ids) > before: // what has happened before the watch was armed is not told
			wait = gap
		case wait == 0 || wait > every:
			wait = every
		}
		if err := s.pause(ctx, gap, wait); err != nil {
			return err
		}
	}
}

// pause waits for a change or for the time wait, and never less than gap.
func (s *subscription) pause(ctx context.Context, gap, wait time.Duration) error {
	over, again := time.After(gap), time.After(max(gap, wait))
	select {
	case <-ctx.Done():
	case <-s.changed:
		select {
		case <-ctx.Done():
		case <-over:
		}
	case <-again:
	}
	return context.Cause(ctx)
}
