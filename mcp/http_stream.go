package mcp

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	keptBells    = 256         // events that a session's stream keeps for a client that reconnects
	keptEvents   = 64          // events that the stream of a request keeps
	keptRequests = 4           // streams of requests that a session keeps
	retry        = time.Second // how long a client waits before it reconnects
)

// stream keeps the newest events of one stream, for a client that has lost the connection.
type stream struct {
	name      string
	maxEvents int

	mu     sync.Mutex
	first  int // number of the first kept event; numbers begin at 1
	events [][]byte
	over   bool          // no event will follow
	ended  time.Time     // when over was set
	more   chan struct{} // closed and replaced at each change
}

func newStream(maxEvents int) *stream {
	return &stream{name: rand.Text(), maxEvents: maxEvents, first: 1, more: make(chan struct{})}
}

// id returns the id of event n, for Last-Event-ID. Id 0 stands for the place before the first event.
func (st *stream) id(n int) string { return st.name + "-" + strconv.Itoa(n) }

// add appends an event, and wakes the goroutines that wait for events.
func (st *stream) add(data []byte) (n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, data)
	if len(st.events) > st.maxEvents {
		st.events[0] = nil
		st.events = st.events[1:]
		st.first++
	}
	st.wake()
	return st.first + len(st.events) - 1
}

// next returns the number that the next event will get.
func (st *stream) next() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.first + len(st.events)
}

func (st *stream) end(now time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over, st.ended = true, now
	st.wake()
}

func (st *stream) wake() {
	close(st.more)
	st.more = make(chan struct{})
}

// hasAllAfter reports whether the stream still has all events after number n.
func (st *stream) hasAllAfter(n int) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return n >= st.first-1 && n < st.first+len(st.events)
}

// after returns the events after number n. The channel more is closed when another event comes; nil: the stream is over.
func (st *stream) after(n int) (events [][]byte, more <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if skip := n + 1 - st.first; skip < len(st.events) {
		events = slices.Clone(st.events[max(0, skip):])
	}
	if !st.over {
		more = st.more
	}
	return events, more
}

// endedBefore reports whether the stream ended before the time in the argument limit.
func (st *stream) endedBefore(limit time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.over && st.ended.Before(limit)
}

// requestStreams holds the streams of a session's requests, the newest last.
type requestStreams struct {
	mu  sync.Mutex
	all []*stream
}

// begin makes the stream of a request. If the session has too many such streams, it drops the oldest.
func (r *requestStreams) begin() *stream {
	st := newStream(keptEvents)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, st)
	r.all = r.all[max(0, len(r.all)-keptRequests):]
	return st
}

// forget drops the streams that ended before the time in the argument limit.
func (r *requestStreams) forget(limit time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(st *stream) bool { return st.endedBefore(limit) })
}

// find returns the stream that a client wants to resume, and the number of the last event that the client has seen.
func (r *requestStreams) find(lastEventID string) (st *stream, after int, ok bool) {
	name, after, ok := eventID(lastEventID)
	if !ok {
		return nil, 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range r.all {
		if st.name == name && st.hasAllAfter(after) {
			return st, after, true
		}
	}
	return nil, 0, false
}

func eventID(id string) (name string, n int, ok bool) {
	name, number, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	return name, n, ok && err == nil && n >= 0
}
