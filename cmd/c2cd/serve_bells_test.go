package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"c2c/wake"
)

var bellCount = flag.Int("bells", 200, "how many messages are sent to clients that read only when they are rung; make torture: 4000")

// rungReaders are clients that read when a bell comes, and at no other time.
type rungReaders struct {
	*host
	mu    sync.Mutex
	had   map[string]int  // how often, by id
	heard map[string]bool // the bells, by trace id
	polls int
	over  chan struct{} // closed: they are to end
}

// read ends when it is over, or when no bell comes any more.
func (r *rungReaders) read(c *mcpClient, alias string) {
	messages, leave := c.listen()
	defer leave()
	for {
		select {
		case <-r.over:
			return
		case data, ok := <-messages:
			if !ok {
				r.t.Errorf("the stream of %s has ended", alias)
				return
			}
			trace := traceOf(data)
			r.mu.Lock()
			r.heard[trace] = true
			r.mu.Unlock()
			if !r.drain(c) {
				return
			}
		}
	}
}

// unheard are the bells of which the daemon says that it rang them, and which no client has heard.
func (r *rungReaders) unheard() (traces []string) {
	for line := range strings.Lines(r.broker()) {
		var e struct {
			Event, Result string
			Trace         string `json:"trace_id"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Event == "surface_doorbell_sent" && e.Result == wake.Rang && !r.heard[e.Trace] {
			traces = append(traces, e.Trace)
		}
	}
	return traces
}

// drain reads until nothing is left.
func (r *rungReaders) drain(c *mcpClient) bool {
	for {
		text, err := c.tryCall("poll_inbox", `{}`)
		var mail []struct {
			ID string `json:"message_id"`
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &mail)
		}
		if err != nil {
			r.t.Errorf("poll_inbox: %v", err)
			return false
		}
		r.mu.Lock()
		r.polls++
		for _, m := range mail {
			if r.had[m.ID]++; r.had[m.ID] > 1 {
				r.t.Errorf("%s has come twice", m.ID)
			}
		}
		r.mu.Unlock()
		if len(mail) == 0 {
			return true
		}
	}
}

// Sessions write at the same time to sessions that read when they are rung. Nobody waits in vain,
// and each bell of which the daemon says that it was rung is heard: one that was lost would be rung
// again some time later.
func TestNobodyWaitsForABellInVain(t *testing.T) {
	r := &rungReaders{host: newHost(t), had: map[string]int{}, heard: map[string]bool{}, over: make(chan struct{})}
	r.run("serve", "start", "--port", r.port)
	const readers, writers = 8, 12
	var reading, writing sync.WaitGroup
	for i := range readers {
		alias := fmt.Sprint("reader-", i)
		c := r.dialMCP(alias)
		c.patience = bellLimit * time.Duration(1+*bellCount/1000)
		c.call("register", `{"alias":"`+alias+`"}`)
		reading.Go(func() { r.read(c, alias) })
	}
	defer reading.Wait()
	defer close(r.over)
	var next atomic.Int64
	for i := range writers {
		c := r.dialMCP(fmt.Sprint("writer-", i))
		c.call("register", fmt.Sprintf(`{"alias":"writer-%d"}`, i))
		writing.Go(func() {
			for n := next.Add(1); n <= int64(*bellCount) && !t.Failed(); n = next.Add(1) {
				if _, err := c.tryCall("send", fmt.Sprintf(`{"to_alias":"reader-%d","content":"x","message_id":"m-%d"}`, n%readers, n)); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	writing.Wait()
	locked := func(is func() bool) func() bool {
		return func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return t.Failed() || is()
		}
	}
	r.until("all mail", locked(func() bool { return len(r.had) == *bellCount }))
	r.until("each bell that was rung", locked(func() bool { return len(r.unheard()) == 0 }))
	t.Logf("%d messages, read in %d calls after %d bells", len(r.had), r.polls, len(r.heard))
}
