// Package sse writes one stream of server-sent events (the HTML standard, section 9.2) to one
// client.
//
// Each write has a deadline, so the stream ends if its client does not read. After the first error
// the stream is over. The kernel may take bytes that the client never reads. Only an answer from
// the client proves that the client has read an event.
package sse

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

// Event is one event of a stream. Send leaves out empty fields.
type Event struct {
	ID, Name string // one line each: they are c2c's own words
	Data     []byte // each line becomes a data field; nil: no data field, so clients see no event; []byte{}: an event without text
	Comment  string // clients skip it; c2c sends it to keep a quiet stream open
}

// Stream is an open stream. It ends when its client hangs up, a write fails, or the handler
// returns. Only one goroutine may use it.
type Stream struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	ctx   context.Context
	limit time.Duration // see Start
	err   error         // the first error of a write
}

// Start answers a request with a stream. The argument limit is the longest time to write one event.
func Start(w http.ResponseWriter, r *http.Request, limit time.Duration) (*Stream, error) {
	s := &Stream{w: w, out: http.NewResponseController(w), ctx: r.Context(), limit: limit}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // otherwise proxies buffer short events
	w.WriteHeader(http.StatusOK)
	return s, s.flush(nil)
}

// Send writes an event. It returns nil when the kernel has taken the event. After a failed write
// the stream is over.
func (s *Stream) Send(e Event) error {
	if s.err != nil {
		return s.err
	}
	if text := e.bytes(); len(text) > 0 {
		return s.flush(text)
	}
	return nil
}

func (s *Stream) flush(text []byte) error {
	s.err = s.ctx.Err()
	if s.err == nil {
		s.err = s.out.SetWriteDeadline(time.Now().Add(s.limit))
	}
	if s.err == nil && text != nil {
		_, s.err = s.w.Write(text)
	}
	if s.err == nil {
		s.err = s.out.Flush()
	}
	if s.err != nil {
		s.err = fmt.Errorf("write an event: %w", s.err)
	}
	return s.err
}

// bytes returns the event in the form in which it is sent.
func (e Event) bytes() []byte {
	var b bytes.Buffer
	for _, f := range [][2]string{{"", e.Comment}, {"id", e.ID}, {"event", e.Name}} {
		if f[1] != "" {
			writeLines(&b, f[0], []byte(f[1]))
		}
	}
	if e.Data != nil {
		writeLines(&b, "data", e.Data)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// writeLines writes a text as one field for each line. Clients end a line at CR LF, at LF and at
// CR. If writeLines left a line end in the text, the author of the text could begin another field.
func writeLines(b *bytes.Buffer, field string, text []byte) {
	for {
		i := bytes.IndexAny(text, "\r\n")
		line := text
		if i >= 0 {
			line = text[:i]
		}
		b.WriteString(field)
		b.WriteString(": ")
		b.Write(line)
		b.WriteByte('\n')
		if i < 0 {
			return
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		text = text[i+1:]
	}
}
