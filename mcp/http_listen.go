package mcp

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/internal/sse"
)

// listen opens the stream of a session and ends the previous stream, which the client may have lost without c2c noticing.
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

// open makes l the stream of the session. If the client has lost the previous stream and c2c still has all events since
// lastEventID, l continues with them; otherwise l begins with new events.
func (s *httpSession) open(l *listener, lastEventID string) {
	s.mu.Lock()
	old := s.listener
	name, after, ok := eventID(lastEventID)
	if !ok || s.bells == nil || s.bells.name != name || !s.bells.hasAllAfter(after) {
		s.bells, after = newStream(keptBells), 0
	}
	l.events, l.written, l.put = s.bells, after, after
	s.listener, s.listened = l, true
	s.mu.Unlock()
	if old != nil {
		old.end()                     // do not wait until it has ended: it may hang in a write
		s.changes.notify(s.rootNow()) // the old bell no longer rings
	}
}

func (s *httpSession) closeListener(l *listener) {
	s.mu.Lock()
	if s.listener == l {
		s.listener = nil
	}
	s.mu.Unlock()
	s.changes.notify(s.rootNow())
}

// pingAnswered takes the id of a response from the client. The first response to a ping on the open stream makes the stream a bell.
func (s *httpSession) pingAnswered(id string) {
	if l := s.openListener(); l != nil && l.pingAnswered(id) {
		s.changes.notify(s.rootNow())
	}
}

// answeredID returns the id of the request of c2c that a message answers; "" if the message is no response.
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

// bell returns the listener on the open stream; nil: no stream is open, or the client has answered no ping there.
func (s *httpSession) bell() *listener {
	l := s.openListener()
	if l == nil || !l.isAnswered() {
		return nil
	}
	return l
}

// resume continues the stream of a request until that request is answered.
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
			continue // another event may have come meanwhile
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
