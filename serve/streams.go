package serve

import (
	"context"
	"net/http"
	"sync"
)

// streams holds the answers under way on routes with Stream, and bounds their number.
type streams struct {
	max int
	mu  sync.Mutex
	all map[*stream]bool
}

type stream struct {
	who    Visitor
	still  func() bool // reports whether the visitor's key is still valid
	stands bool        // a standing stream: it only reports events, and no client waits for its end
	cancel context.CancelFunc
}

func newStreams(max int) *streams { return &streams{max: max, all: map[*stream]bool{}} }

// share bounds the streams of one sender to 1/share of all, so that a sender does not shut out
// others.
const share = 8

// enter begins a stream, and leave ends it. If there are too many streams, leave is nil. The
// arguments stands and still are explained at type stream.
func (s *streams) enter(r *http.Request, who Visitor, stands bool, still func() bool) (ctx context.Context, leave func()) {
	one := &stream{who: who, still: still, stands: stands}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.max || who.Kind == Sender && s.of(who) >= max(1, s.max/share) {
		return nil, nil
	}
	ctx, one.cancel = context.WithCancel(r.Context())
	s.all[one] = true
	return ctx, func() {
		s.mu.Lock()
		delete(s.all, one)
		s.mu.Unlock()
		one.cancel()
	}
}

// of returns the number of a visitor's streams. The caller holds the lock.
func (s *streams) of(who Visitor) (n int) {
	for one := range s.all {
		if one.who == who {
			n++
		}
	}
	return n
}

// standing returns the standing streams.
func (s *streams) standing() (all []*stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.all {
		if one.stands {
			all = append(all, one)
		}
	}
	return all
}

func (s *streams) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
