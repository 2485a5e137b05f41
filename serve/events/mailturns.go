package events

import (
	"sync"

	"c2c/serve"
)

// mailTurns lets one stream at a time hand over a sender's mail, so that the answers arrive in one order.
type mailTurns struct {
	mu     sync.Mutex
	taken  map[mailbox]bool // mailboxes whose mail a stream is handing over; true: another stream waits for it
	frees  int              // how often a stream has given up its turn
	wanted chan struct{}    // closed and replaced when a mailbox becomes free for which another stream waits
}

// mailbox is the mailbox of a sender in a root.
type mailbox struct {
	place *serve.OpenRoot
	sid   string
}

func newMailTurns() *mailTurns {
	return &mailTurns{taken: map[mailbox]bool{}, wanted: make(chan struct{})}
}

// wake returns a channel that is closed when a stream that take has refused may try again.
func (t *mailTurns) wake() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted
}

// take reports whether the caller may hand over the mail, until it calls free. If not, wake says when to try again.
func (t *mailTurns) take(box mailbox) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, taken := t.taken[box]
	t.taken[box] = taken
	return !taken
}

// freed counts how often a stream has given up its turn, see isEmpty.
func (t *mailTurns) freed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frees
}

// isEmpty reports whether no stream has given up its turn since freed was read. False means that one may have put mail back: look
// again. While another stream has the mailbox's turn, isEmpty is true too, and wake says when that is over.
func (t *mailTurns) isEmpty(box mailbox, freed int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.taken[box]; taken {
		t.taken[box] = true
		return true
	}
	return t.frees == freed
}

func (t *mailTurns) free(box mailbox) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frees++
	if t.taken[box] {
		close(t.wanted)
		t.wanted = make(chan struct{})
	}
	delete(t.taken, box)
}
