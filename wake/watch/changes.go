package watch

import (
	"sync"
	"time"
)

// Changes tells when files are closed by their writers. One serves a whole
// process: a user has 128 of the kernel's watch instances, and the sessions of
// a busy day need most of them.
type Changes struct {
	source source

	mu   sync.Mutex
	subs map[*Subscription]bool
}

// source is the system's way to watch. add returns a number that events carry.
type source interface {
	add(file string) (id int, err error)
	remove(id int)
	close()
}

// Subscription is one file that is watched.
type Subscription struct {
	changed chan struct{} // holds one: many changes are one
	every   time.Duration // look as often without being told
	changes *Changes
	id      int
}

// NewChanges starts to watch. Where the system has no watch left, its
// subscribers look once a second.
func NewChanges() *Changes {
	c := &Changes{subs: map[*Subscription]bool{}}
	c.source = newSource(c.notify)
	return c
}

// Subscribe watches a file that exists.
func (c *Changes) Subscribe(file string) *Subscription {
	s := &Subscription{changed: make(chan struct{}, 1), every: pollEvery, changes: c, id: -1}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source != nil {
		if id, err := c.source.add(file); err == nil {
			s.id, s.every = id, recheck
		}
	}
	c.subs[s] = true
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	c := s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subs, s)
	for other := range c.subs {
		if other.id == s.id {
			return // the same file
		}
	}
	if s.id >= 0 {
		c.source.remove(s.id)
	}
}

// notify wakes who watches id; a negative one is everybody, after an overflow.
func (c *Changes) notify(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.subs {
		if id < 0 || s.id == id {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
}

// Close ends the watch. Subscriptions hear nothing any more.
func (c *Changes) Close() {
	if c.source != nil {
		c.source.close()
	}
}
