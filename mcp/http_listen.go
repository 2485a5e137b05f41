package mcp

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/sse"
)

// listen opens the stream of a session, and ends an older one: c2c may not have noticed yet that the client has lost it.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	l := newListener(s.host.listeners.Add(1))
	s.open(l, r.Header.Get(mcp.HeaderLastEventID))
	defer s.closeListener(l)
	defer close(l.gone)
	out, err := sse.Start(w, r, s.limits.Write)
	if err == nil && s.startsWithEvent() {
		err = out.Send(sse.Event{ID: l.events.id(l.written), Data: []byte{}, Retry: retry})
	}
	if err == nil {
		err = l.ping(out)
	}
	tick := time.NewTicker(s.limits.Ping)
	defer tick.Stop()
	for err == nil {
		more, failed := l.catchUp(out)
		if failed != nil {
			return
		}
		select {
		case <-more:
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

// open makes l the stream of the session. If the client has lost the previous stream, and all events after the last one it has seen
// are kept, l goes on with these; otherwise l begins with new events.
func (s *httpSession) open(l *listener, lastEventID string) {
	s.mu.Lock()
	old := s.listener
	name, after, ok := eventID(lastEventID)
	if !ok || s.bells == nil || s.bells.name != name || !s.bells.has(after) {
		s.bells, after = newStream(keptBells), 0
	}
	l.events, l.written, l.put = s.bells, after, after
	s.listener, s.listened = l, true
	s.mu.Unlock()
	if old != nil {
		old.end()                   // do not wait for it: it may hang in a write
		s.changes.tell(s.rootNow()) // its bell no longer rings
	}
}

func (s *httpSession) closeListener(l *listener) {
	s.mu.Lock()
	if s.listener == l {
		s.listener = nil
	}
	s.mu.Unlock()
	s.changes.tell(s.rootNow())
}

// pingAnswered takes the id of an answer from the client. It may answer a ping on the open stream.
func (s *httpSession) pingAnswered(id string) {
	if l := s.openListener(); l != nil && l.pingAnswered(id) {
		s.changes.tell(s.rootNow())
	}
}

// answeredID gives the id of c2c's request that a message answers, "" if it answers none.
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

// bell is the listener of the stream, nil if there is none or its client has answered no ping there.
func (s *httpSession) bell() *listener {
	l := s.openListener()
	if l == nil || !l.isAnswered() {
		return nil
	}
	return l
}

// resume goes on with the stream of a request until that request is answered.
func (s *httpSession) resume(w http.ResponseWriter, r *http.Request, st *stream, after int) {
	out, err := sse.Start(w, r, s.limits.Write)
	for err == nil {
		events, more := st.after(after)
		for _, data := range events {
			after++
			if err = out.Send(sse.Event{ID: st.id(after), Data: data}); err != nil {
				return
			}
		}
		if len(events) > 0 {
			continue // another event may have come
		}
		if more == nil {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}
