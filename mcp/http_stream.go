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
	keptBells    = 256 // events of a session's stream that are kept for a client that reconnects
	keptEvents   = 64  // the same of the stream of a request
	keptRequests = 4   // streams of requests that a session keeps
	retry        = time.Second
)

// stream is the events of one stream of a session. The newest are kept for a client that has lost it.
type stream struct {
	name string
	most int

	mu     sync.Mutex
	first  int // the number of the first that is kept; they are counted from 1
	events [][]byte
	over   bool      // no more events come
	ended  time.Time // when it was over
	more   chan struct{}
}

func newStream(most int) *stream {
	return &stream{name: rand.Text(), most: most, first: 1, more: make(chan struct{})}
}

// id names an event, for Last-Event-ID. Event 0 is the beginning.
func (st *stream) id(n int) string { return st.name + "-" + strconv.Itoa(n) }

// add keeps an event, and wakes the followers.
func (st *stream) add(data []byte) (n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, data)
	if len(st.events) > st.most {
		st.events[0] = nil
		st.events = st.events[1:]
		st.first++
	}
	st.wake()
	return st.first + len(st.events) - 1
}

// next is the number that the next event has.
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

// has reports whether all events behind number n are kept.
func (st *stream) has(n int) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return n >= st.first-1 && n < st.first+len(st.events)
}

// after gives the events behind number n. more is closed when there are others; nil: the stream is over.
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

// goneBy reports whether the stream was over before limit.
func (st *stream) goneBy(limit time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.over && st.ended.Before(limit)
}

// requestStreams are the streams of the requests of a session, the newest last.
type requestStreams struct {
	mu  sync.Mutex
	all []*stream
}

// begin makes the stream of a request. The oldest of too many is not kept any longer.
func (r *requestStreams) begin() *stream {
	st := newStream(keptEvents)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, st)
	r.all = r.all[max(0, len(r.all)-keptRequests):]
	return st
}

// forget drops streams that were over before limit.
func (r *requestStreams) forget(limit time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(st *stream) bool { return st.goneBy(limit) })
}

// find gives the stream of a request that a client has lost, and the last event that it has of it.
func (r *requestStreams) find(lastEventID string) (st *stream, after int, ok bool) {
	name, after, ok := eventID(lastEventID)
	if !ok {
		return nil, 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range r.all {
		if st.name == name && st.has(after) {
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
