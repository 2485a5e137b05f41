package mcp

import (
	"encoding/json"
	"net/http"
	"time"

	"c2c/internal/sse"
)

// listen opens the stream of a session and ends the previous stream, which the client may have lost
// without c2c noticing. Its events have no ids, so a client cannot resume it: the ringer rings a
// newly opened stream at once if mail waits.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	l := newListener(s.host.listeners.Add(1))
	s.mu.Lock()
	old := s.listener
	s.listener, s.listened = l, true
	s.mu.Unlock()
	if old != nil {
		old.end()      // do not wait until it has ended: it may hang in a write
		s.bellsMoved() // the old bell no longer rings
	}
	defer s.closeListener(l)
	defer close(l.gone)
	out, err := sse.Start(w, r, s.limits.Write)
	if err == nil {
		err = l.ping(out)
	}
	tick := time.NewTicker(s.limits.Ping)
	defer tick.Stop()
	for err == nil {
		select {
		case n := <-l.queue:
			b, _ := json.Marshal(n) // it has only texts
			if err = out.Send(sse.Event{Data: b}); err == nil {
				l.wrote()
			}
		case <-tick.C:
			err = l.ping(out)
		case <-l.over:
			return
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *httpSession) closeListener(l *listener) {
	s.mu.Lock()
	if s.listener == l {
		s.listener = nil
	}
	s.mu.Unlock()
	s.bellsMoved()
}

// pingAnswered takes the id of a response from the client. The first response to a ping on the open
// stream makes the stream a bell.
func (s *httpSession) pingAnswered(id string) {
	if l := s.openListener(); l != nil && l.pingAnswered(id) {
		s.bellsMoved()
	}
}

// answeredID returns the id of the request of c2c that a message answers; "" if the message is no
// response.
func answeredID(body []byte) string {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	var id string
	if json.Unmarshal(body, &head) != nil || head.Method != "" || json.Unmarshal(head.ID, &id) != nil {
		return ""
	}
	return id
}

// bell returns the bell of the open stream; nil: no stream is open, or the client has answered no
// ping there.
func (s *httpSession) bell() numberedBell {
	l := s.openListener()
	if l == nil || !l.isAnswered() {
		return nil
	}
	return l
}
