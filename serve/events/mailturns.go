package events

import (
	"sync"

	"c2c/serve"
)

// mailTurns lets only one stream at a time hand over a sender's mail, so that all streams get the answers in the same order.
type mailTurns struct {
	mu     sync.Mutex
	taken  map[mailbox]bool // the mailboxes with a stream that hands over their mail now; true: another stream waits for the turn
	frees  int              // how often a stream has given up a turn
	wanted chan struct{}    // closed and replaced when a stream gives up a turn for which another stream waits
}

// mailbox is the mailbox of a sender in a root.
type mailbox struct {
	open *serve.OpenRoot
	sid  string
}

func newMailTurns() *mailTurns {
	return &mailTurns{taken: map[mailbox]bool{}, wanted: make(chan struct{})}
}

// wake returns a channel for a stream that got no turn from take. It is closed when the stream should try again.
func (t *mailTurns) wake() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted
}

// take reports whether the caller may hand over the mail now; if so, the caller must call free afterwards. If not, wake
// says when to try again.
func (t *mailTurns) take(box mailbox) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, taken := t.taken[box]
	t.taken[box] = taken
	return !taken
}

// freed returns how often a stream has given up a turn. The number is for isEmpty.
func (t *mailTurns) freed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frees
}

// isEmpty reports whether a mailbox that was empty when freed was read is still empty. It returns false if a stream has given
// up a turn since then, because that stream may have put mail back: the caller must read the mailbox again. While another
// stream has the turn, isEmpty returns true too, and wake says when the turn is over.
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
