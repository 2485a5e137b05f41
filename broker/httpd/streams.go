package httpd

import (
	"context"
	"crypto/sha256"
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
	kind   Kind
	key    [sha256.Size]byte
	stands bool // it only tells what happens: nobody waits for its end
	cancel context.CancelFunc
}

func newStreams(max int) *streams { return &streams{max: max, all: map[*stream]bool{}} }

// enter begins a stream. leave is nil when there are too many.
func (s *streams) enter(r *http.Request, kind Kind, key [sha256.Size]byte) (ctx context.Context, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.max {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	one := &stream{kind, key, r.Method == http.MethodGet, cancel}
	s.all[one] = true
	return ctx, func() {
		s.mu.Lock()
		delete(s.all, one)
		s.mu.Unlock()
		cancel()
	}
}

// end ends those that only tell what happens, of all visitors or of those whose key is worth nothing any more.
func (s *streams) end(worthless func(kind Kind, key [sha256.Size]byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.all {
		if one.stands && worthless(one.kind, one.key) {
			one.cancel()
		}
	}
}

func (s *streams) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
