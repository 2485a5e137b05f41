package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

var bellCount = flag.Int("bells", 200, "how many messages are sent to clients that read only when they are rung; make torture: 4000")

// rungReaders are clients that read when a bell comes, and at no other time.
type rungReaders struct {
	*host
	mu   sync.Mutex
	had  map[string]int // how often, by id
	rung int
	done chan struct{} // closed when all has come
}

// read ends when all has come, or when no bell comes. After some bells it opens another stream.
func (r *rungReaders) read(c *mcpClient, alias string) {
	for {
		messages, leave := c.listen()
		for range 25 {
			select {
			case <-r.done:
				leave()
				return
			case _, ok := <-messages:
				if !ok {
					r.mu.Lock()
					r.t.Errorf("no bell comes for %s; %d of %d messages have come", alias, len(r.had), *bellCount)
					r.mu.Unlock()
					return
				}
			}
			if !r.drain(c) {
				leave()
				return
			}
		}
		leave()
	}
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
		r.rung++
		for _, m := range mail {
			if r.had[m.ID]++; r.had[m.ID] > 1 {
				r.t.Errorf("%s has come twice", m.ID)
			}
			if len(r.had) == *bellCount {
				close(r.done)
			}
		}
		r.mu.Unlock()
		if len(mail) == 0 {
			return true
		}
	}
}

// Sessions write at the same time to sessions that read when they are rung. If one bell were lost, a message would stay.
func TestNobodyWaitsForABellInVain(t *testing.T) {
	r := &rungReaders{host: newHost(t), had: map[string]int{}, done: make(chan struct{})}
	r.run("serve", "start", "--port", r.port)
	const readers, writers = 8, 12
	var all sync.WaitGroup
	for i := range readers {
		alias := fmt.Sprint("reader-", i)
		c := r.dialMCP(alias)
		c.call("register", `{"alias":"`+alias+`"}`)
		all.Go(func() { r.read(c, alias) })
	}
	var next atomic.Int64
	for i := range writers {
		c := r.dialMCP(fmt.Sprint("writer-", i))
		c.call("register", fmt.Sprintf(`{"alias":"writer-%d"}`, i))
		all.Go(func() {
			for n := next.Add(1); n <= int64(*bellCount) && !t.Failed(); n = next.Add(1) {
				if _, err := c.tryCall("send", fmt.Sprintf(`{"to_alias":"reader-%d","content":"x","message_id":"m-%d"}`, n%readers, n)); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d messages, read in %d calls", len(r.had), r.rung)
}
