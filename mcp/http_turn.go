package mcp

import "sync"

// turns makes the tool calls of a session's POSTs run one after another.
type turns struct {
	limit int           // number of POSTs that may wait
	gate  chan struct{} // holds a value while a tool call runs

	mu      sync.Mutex
	waiting int
}

// turn is the right of a POST to run the tool calls of its session. It is not the turn of a model.
type turn struct {
	turns *turns

	mu    sync.Mutex
	waits bool // the POST still waits, and turns.waiting includes it
	has   bool // the POST has the turn now
}

// wait adds a POST to those that wait for the turn. It returns nil if too many wait already.
func (t *turns) wait() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting >= t.limit {
		return nil
	}
	t.waiting++
	return &turn{turns: t, waits: true}
}

func (t *turns) stopWaiting() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
}

// take waits for the turn. It always gets the turn in the end: the POST that has the turn returns it when its handler
// ends, at the latest when the session ends.
func (t *turn) take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has {
		t.turns.gate <- struct{}{}
		t.has = true
	}
	if t.waits {
		t.waits = false
		t.turns.stopWaiting()
	}
}

// give lets another POST of the session have the turn.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has {
		t.has = false
		<-t.turns.gate
	}
}

// end gives the turn back, or stops waiting for the turn. It is called when the calls of the POST are answered.
func (t *turn) end() {
	t.give()
	if t.waits {
		t.turns.stopWaiting()
	}
}
