package watch

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	pollEvery = time.Second // the time between two checks if the system has no watch left
	// unlocked is how long a lock may still be held after its lock file was closed: the kernel
	// reports the close before it releases the lock.
	unlocked = 100 * time.Millisecond
)

// Changes reports when a writer has closed a file. All watchers of a ringer share one Changes,
// because the kernel gives a user only 128 watch instances. But each Receipt (receipt.go) makes a
// Changes of its own while it waits for the client.
type Changes struct {
	source source

	mu   sync.Mutex
	subs map[*subscription]bool
}

// notice is called for each event, with the number that the source's method Add has returned, and
// for a directory also with the name of the file. A negative number means that the system lost
// events, so any file may have changed.
type notice = func(id int, name string)

// subscription is one watcher of files.
type subscription struct {
	changed chan struct{} // has room for one value: many changes count as one
	every   time.Duration // the time between two checks if no event comes
	changes *Changes
	ids     []int // of the watched files and directories, as the source has returned them
}

// NewChanges starts to watch. If the system has no watch left, the subscribers check once a second.
func NewChanges() *Changes {
	c := &Changes{subs: map[*subscription]bool{}}
	c.source = newSource(func(id int, _ string) { c.notify(id) })
	return c
}

// subscribe returns a subscription to the changes of a file, which must exist. If file is "", the
// subscription has no file yet. Its method add adds files.
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

// add makes s watch one more file, or all files in a directory. It returns false if the system
// cannot watch path now.
func (s *subscription) add(path string) bool {
	c := s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source == nil {
		return false
	}
	id, err := c.source.Add(path)
	if err == nil && !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
	return err == nil
}

// Until calls the function ready at once, after each change of the file, and from time to time. It
// returns nil when ready returns true, and an error when ready returns one or ctx ends. The file
// must exist.
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
		// Call ready only after the watch is set, so that no change is missed.
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

// Close ends the subscription. The kernel watches the files until the Changes is closed, because
// another subscription may need them.
func (s *subscription) Close() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	delete(s.changes.subs, s)
}

// notify wakes the subscriptions that have the file with number id; a negative id wakes all
// subscriptions.
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

// Recheck makes all subscribers check now.
func (c *Changes) Recheck() { c.notify(-1) }

// Close ends the watch. Subscriptions get no more changes.
func (c *Changes) Close() {
	if c.source != nil {
		c.source.Close()
	}
}
