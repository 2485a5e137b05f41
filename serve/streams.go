package serve

import (
	"context"
	"net/http"
	"sync"
)

// streams holds the answers under way on routes with Stream, and bounds their number.
type streams struct {
	max   int
	mu    sync.Mutex
	all   map[*stream]bool
	began uint64 // number of streams that have begun
}

type stream struct {
	group
	number uint64      // a later stream has a higher number
	still  func() bool // reports whether the visitor's key is still valid
	stands bool        // a standing stream: it only reports events, and no client waits for its end
	cancel context.CancelFunc
}

// group is the visitor whose streams are counted together. All clients of this user show the same token, so each client
// process counts as a visitor of its own. The field process is its PID, 0 if it is not known or does not matter.
type group struct {
	who     Visitor
	process int
}

func newStreams(max int) *streams { return &streams{max: max, all: map[*stream]bool{}} }

// share bounds the streams of one sender to 1/share of all, so that a sender does not shut out others.
const share = 8

// enter begins a stream, and leave ends it. If there are too many streams, leave is nil. The arguments stands and still are
// explained at type stream. The function findProcess finds the visitor's process; the search takes a while.
func (s *streams) enter(r *http.Request, who Visitor, stands bool, findProcess func() int, still func() bool) (ctx context.Context, leave func()) {
	one := &stream{group: group{who: who}, still: still, stands: stands}
	if who.Kind == Tools && (one.stands || s.size() >= s.max/2) { // while there are few streams, search only for standing ones
		one.process = findProcess()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if who.Kind == Sender && s.of(one.group) >= max(1, s.max/share) || len(s.all) >= s.max && !s.makeRoom(one.group) {
		return nil, nil
	}
	ctx, one.cancel = context.WithCancel(r.Context())
	s.began++
	one.number = s.began
	s.all[one] = true
	return ctx, func() {
		s.mu.Lock()
		delete(s.all, one)
		s.mu.Unlock()
		one.cancel()
	}
}

// makeRoom ends the oldest standing stream of the group that has the most streams. It returns false unless the newcomer's group has at
// least two streams fewer than that group: otherwise two groups would end each other's streams forever. The caller holds the lock.
func (s *streams) makeRoom(newcomer group) bool {
	standing, oldest := map[group]int{}, map[group]*stream{}
	for one := range s.all {
		if !one.stands {
			continue
		}
		standing[one.group]++
		if old := oldest[one.group]; old == nil || one.number < old.number {
			oldest[one.group] = one
		}
	}
	var victim *stream
	for g, one := range oldest {
		if victim == nil || standing[g] > standing[victim.group] || standing[g] == standing[victim.group] && one.number < victim.number {
			victim = one
		}
	}
	if victim == nil || s.of(newcomer)+2 > standing[victim.group] {
		return false
	}
	delete(s.all, victim) // the stream's handler returns in a moment
	victim.cancel()
	return true
}

// of returns the number of a group's streams. The caller holds the lock.
func (s *streams) of(g group) (n int) {
	for one := range s.all {
		if one.group == g {
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
