package watch

import (
	"context"
	"time"
)

// Each calls look again and again. The next call comes when a writer has closed one of the files that look returned, or after
// wait (0: no limit), and at least once a minute. If one of the files cannot be watched, Each calls look every second. It
// waits at least gap between two calls. The files should exist. Each returns look's error, or the cause when ctx ends.
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
			if !s.add(file) { // add it each time: another file may have replaced it
				every = pollEvery
			}
		}
		switch {
		case len(s.ids) > before: // no event reports changes before the watch was set, so call look again soon
			wait = gap
		case wait == 0 || wait > every:
			wait = every
		}
		if err := s.pause(ctx, gap, wait); err != nil {
			return err
		}
	}
}

// pause returns after a change or after wait, but not before gap has passed.
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
