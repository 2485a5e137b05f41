package watch

import (
	"context"
	"time"
)

// Each calls look at once, when a writer has closed one of the files that look returned, after wait (0: none), and once a
// minute; once a second while one of the files cannot be watched. Between two calls it waits at least gap. The files
// should exist.
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
			if !s.add(file) { // each time: a removed file may exist again, as another file
				every = pollEvery
			}
		}
		switch {
		case len(s.ids) > before: // changes before the watch was set are not reported
			wait = gap
		case wait == 0 || wait > every:
			wait = every
		}
		if err := s.pause(ctx, gap, wait); err != nil {
			return err
		}
	}
}

// pause waits for a change or for wait, and never less than gap.
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
