package watch

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	pollEvery = time.Second // when the system's watches have run out
	// unlocked is how long after its file was closed a lock may still be held: the kernel tells of the close
	// before it lets the lock go.
	unlocked = 100 * time.Millisecond
)

// Changes tells when files are closed by their writers. One serves all watchers of a
// process, and each Receipt has its own while it waits: a user has 128 of the kernel's watch instances, and the sessions of
// a busy day need most of them.
type Changes struct {
	source source

	mu   sync.Mutex
	subs map[*subscription]bool
}

// source is the system's way to watch; nil: there is none. add returns a number that events carry. take reads what has
// happened until now.
type source interface {
	add(file string) (id int, err error)
	addTimes(dir string) (id int, err error) // tells of files whose time was set, too
	take()
	close()
}

// notice is told of an event: the number of what was added and, in a directory, the name of the file. A negative number
// is everything, after an overflow.
type notice = func(id int, name string)

// subscription is one watcher of files.
type subscription struct {
	changed chan struct{} // holds one: many changes are one
	every   time.Duration // look as often without being told
	changes *Changes
	ids     []int
}

// NewChanges starts to watch. Where the system has no watch left, its
// subscribers look once a second.
func NewChanges() *Changes {
	c := &Changes{subs: map[*subscription]bool{}}
	c.source = newSource(func(id int, _ string) { c.notify(id) })
	return c
}

// subscribe watches a file that exists; "" is none, and others are added.
func (c *Changes) subscribe(file string) *subscription {
	s := &subscription{changed: make(chan struct{}, 1), every: pollEvery, changes: c}
	if file == "" && c.source != nil || file != "" && s.add(file) {
		s.every = recheck
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subs[s] = true
	return s
}

// add watches another file, or all that are in a directory, and says whether that can be done now.
func (s *subscription) add(path string) bool {
	c := s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source == nil {
		return false
	}
	id, err := c.source.add(path)
	if err == nil && !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
	return err == nil
}

// Until returns when ready says true or fails, or when ctx ends. It asks now, after each change of a file, and now
// and then. The file must exist.
func (c *Changes) Until(ctx context.Context, file string, ready func() (bool, error)) error {
	s := c.subscribe(file)
	defer s.Close()
	return s.until(ctx, ready)
}

func (s *subscription) until(ctx context.Context, ready func() (bool, error)) error {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	var again <-chan time.Time
	for {
		// After the watch is armed, so that nothing falls in between.
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.changed:
			again = time.After(unlocked)
		case <-again:
		case <-tick.C:
		}
	}
}

// Close ends the subscription. The file stays watched, because another one may be for it: at most three files of each
// session.
func (s *subscription) Close() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	delete(s.changes.subs, s)
}

// notify wakes those that watch id; a negative id means all of them, after an overflow.
func (c *Changes) notify(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.subs {
		if id < 0 || slices.Contains(s.ids, id) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
}

// Recheck has everybody look now.
func (c *Changes) Recheck() { c.notify(-1) }

// Close ends the watch. Subscriptions hear nothing any more.
func (c *Changes) Close() {
	if c.source != nil {
		c.source.close()
	}
}
