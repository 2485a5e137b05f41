// Package sse writes one stream of server-sent events (the HTML standard, section 9.2) to one client.
//
// Each write has a deadline, so the stream ends if its client does not read: it is over after the first error. The client may never
// read bytes that the kernel has taken. A caller that must know needs an answer from the client.
package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a stream. Send leaves out empty fields.
type Event struct {
	ID, Name string        // one line each
	Data     []byte        // a data field for each line; nil: no event, []byte{}: an event without text
	Comment  string        // clients skip it: it keeps a quiet stream open
	Retry    time.Duration // after this time a client that has lost the stream connects again
}

// Stream is open until its client goes, a write fails, or the handler returns. One goroutine uses it.
type Stream struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	ctx   context.Context
	write time.Duration
	err   error
}

// Start answers a request with a stream. Each event must be written within the duration write.
func Start(w http.ResponseWriter, r *http.Request, write time.Duration) (*Stream, error) {
	s := &Stream{w: w, out: http.NewResponseController(w), ctx: r.Context(), write: write}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // otherwise proxies buffer short events
	w.WriteHeader(http.StatusOK)
	return s, s.flush(nil)
}

// Send returns nil when the kernel has the event. After an error the stream is over.
func (s *Stream) Send(e Event) error {
	if s.err != nil {
		return s.err
	}
	text, err := e.bytes()
	if err != nil {
		return err // the caller's mistake: the stream goes on
	}
	if len(text) == 0 {
		return nil
	}
	return s.flush(text)
}

func (s *Stream) flush(text []byte) error {
	s.err = s.ctx.Err()
	if s.err == nil {
		s.err = s.out.SetWriteDeadline(time.Now().Add(s.write))
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

var errLine = errors.New("the id or the name of an event is more than one line")

// bytes is the event in its wire form.
func (e Event) bytes() ([]byte, error) {
	if strings.ContainsAny(e.ID, "\r\n\x00") || strings.ContainsAny(e.Name, "\r\n") {
		return nil, errLine
	}
	var b bytes.Buffer
	if e.Comment != "" {
		writeLines(&b, "", []byte(e.Comment))
	}
	if e.Retry > 0 {
		writeLines(&b, "retry", strconv.AppendInt(nil, e.Retry.Milliseconds(), 10))
	}
	if e.ID != "" {
		writeLines(&b, "id", []byte(e.ID))
	}
	if e.Name != "" {
		writeLines(&b, "event", []byte(e.Name))
	}
	if e.Data != nil {
		writeLines(&b, "data", e.Data)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// writeLines writes a text as one field for each line. Clients end lines at CR LF, LF and CR: with a line end left in the text, its
// author could begin another field.
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
