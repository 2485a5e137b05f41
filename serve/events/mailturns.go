package events

import (
	"sync"

	"c2c/serve"
)

// mailTurns lets one stream at a time hand over the mail of a sender, so that the answers come in one order.
type mailTurns struct {
	mu     sync.Mutex
	taken  map[mailbox]bool // the mailboxes whose mail a stream has in hand; true: another stream wants it
	frees  int              // how often a stream has put mail back or handed it over
	wanted chan struct{}    // closed when a mailbox that another stream wants is free, and replaced
}

// mailbox is that of a sender in a root.
type mailbox struct {
	place *serve.OpenRoot
	sid   string
}

func newMailTurns() *mailTurns {
	return &mailTurns{taken: map[mailbox]bool{}, wanted: make(chan struct{})}
}

// wake is closed when a stream that was refused may try again.
func (t *mailTurns) wake() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted
}

// take reports whether the mail is the caller's to hand over, until free. If not, wake tells when it may try again.
func (t *mailTurns) take(box mailbox) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, taken := t.taken[box]
	t.taken[box] = taken
	return !taken
}

// freed is how often a stream has had mail no more in hand, see isEmpty.
func (t *mailTurns) freed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frees
}

// isEmpty reports whether a mailbox that was empty still is, since freed was read. False means that another stream may have put mail
// back, so look again. If another stream has mail in hand now, wake tells when that is over.
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
