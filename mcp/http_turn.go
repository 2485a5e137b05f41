package mcp

import "sync"

// turns makes the tool calls of a session's POSTs run one after another.
type turns struct {
	most int           // POSTs that may wait
	gate chan struct{} // holds one while a tool call runs

	mu      sync.Mutex
	waiting int
}

// turn is the right of a POST to run the tool calls of its session.
type turn struct {
	turns *turns

	mu    sync.Mutex
	waits bool // counted in turns.waiting
	has   bool
}

// wait queues a POST. It returns nil if too many wait.
func (t *turns) wait() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting >= t.most {
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

// take waits for the turn. The POST that has it gives it back, because its handler ends, at the latest with the session.
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

// give passes the turn to another POST of the session.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has {
		t.has = false
		<-t.turns.gate
	}
}

// end gives the turn back, or stops waiting for it. Callers call it when the calls are answered.
func (t *turn) end() {
	t.give()
	if t.waits {
		t.turns.stopWaiting()
	}
}
