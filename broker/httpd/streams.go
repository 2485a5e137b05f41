package httpd

import (
	"context"
	"net/http"
	"sync"
)

// streams are the answers that may take long.
type streams struct {
	max int
	mu  sync.Mutex
	all map[*stream]bool
}

type stream struct {
	who    Visitor
	still  func() bool // its key is worth what it was
	stands bool        // it only tells what happens: nobody waits for its end
	cancel context.CancelFunc
}

func newStreams(max int) *streams { return &streams{max: max, all: map[*stream]bool{}} }

// share is the part of the streams that one sender outside may have: it keeps nobody else out.
const share = 8

// enter begins a stream. leave is nil when there are too many.
func (s *streams) enter(r *http.Request, who Visitor, still func() bool) (ctx context.Context, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.max || who.Kind == Outside && s.of(who) >= max(1, s.max/share) {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	one := &stream{who, still, r.Method == http.MethodGet, cancel}
	s.all[one] = true
	return ctx, func() {
		s.mu.Lock()
		delete(s.all, one)
		s.mu.Unlock()
		cancel()
	}
}

// of counts the streams of a visitor. It is called with the lock.
func (s *streams) of(who Visitor) (n int) {
	for one := range s.all {
		if one.who == who {
			n++
		}
	}
	return n
}

// standing are those that only tell what happens.
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
