package watch

import (
	"context"
	"time"
)

// Each calls the function look again and again. The next call comes when a writer has closed one of
// the files that look has returned, or after the duration that look has returned as wait (0: no
// limit). In any case it comes within recheck; if one of the files cannot be watched, within a
// second. Two calls are at least the duration gap apart. The files should exist. Each returns an
// error when look returns one or ctx ends.
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
			if !s.add(file) { // add the file each time: another file may have replaced it
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

// pause returns after a change, or after the duration wait, but not before the duration gap has
// passed.
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
