package outside

import (
	"sync"

	"c2c/serve"
)

// mailTurns lets only one stream at a time hand over a sender's mail, so that all streams get the answers in the same order. That
// stream has the turn.
type mailTurns struct {
	mu     sync.Mutex
	taken  map[mailbox]bool // the mailboxes for which a stream has the turn; true: another stream waits for the turn
	frees  int              // how often a stream has given up its turn
	wanted chan struct{}    // closed and replaced when a stream gives up its turn and another stream waits for that
}

// mailbox is the mailbox of a sender in a root.
type mailbox struct {
	open *serve.OpenRoot
	sid  string
}

func newMailTurns() *mailTurns {
	return &mailTurns{taken: map[mailbox]bool{}, wanted: make(chan struct{})}
}

// wake returns a channel for streams that got no turn from take. The channel is closed when they should try again.
func (t *mailTurns) wake() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wanted
}

// take gives the turn to the caller, unless another stream has the turn. If take returns true, the caller must call free or
// freeUnlessAsked afterwards; otherwise the channel from wake shows when to try again.
func (t *mailTurns) take(box mailbox) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, taken := t.taken[box]
	t.taken[box] = taken
	return !taken
}

// freed returns how often a stream has given up its turn. The number is an argument of isEmpty.
func (t *mailTurns) freed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frees
}

// isEmpty reports whether a mailbox in which the caller has found no mail is still empty. The argument before is the result of
// freed before the caller looked. If a stream has given up its turn since then, that stream may have put mail back: isEmpty
// returns false, and the caller must look again. While another stream has the turn, isEmpty returns true; wake shows when to try again.
func (t *mailTurns) isEmpty(box mailbox, before int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.taken[box]; taken {
		t.taken[box] = true
		return true
	}
	return t.frees == before
}

// freeUnlessAsked gives up the turn, and returns true, if no other stream has asked for the turn since the last call. Otherwise the caller
// keeps the turn. It is for a stream that has put no mail back.
func (t *mailTurns) freeUnlessAsked(box mailbox) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[box] {
		t.taken[box] = false
		return false
	}
	delete(t.taken, box)
	return true
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
