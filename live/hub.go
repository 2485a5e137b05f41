package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"c2c/process/survive"
)

// ErrBehind: the hub no longer has the update that a follower needs next. The follower must call Now again, and follow from
// there.
var ErrBehind = errors.New("the next updates are not kept any more")

// Limits of what a Hub keeps for its followers.
const (
	hubMails   = 500      // newest messages
	hubContent = 16 << 10 // bytes of the content of each
	hubRing    = 1024     // updates
	hubBytes   = 8 << 20  // about the bytes of all updates

	hubAgain = time.Second // time until the next look after a failed one
)

// Numbered is an update with its number. Its events have no contents: Mails has them.
type Numbered struct {
	N uint64
	Update
	Mails []Mail // new messages, and those with a new state
}

// Snapshot is the state after update N of an epoch.
type Snapshot struct {
	Epoch    string // another hub has another epoch, and its numbers do not apply
	N        uint64
	Sessions []Session
	Mails    []Mail // oldest first
}

// Hub shares one View among many followers. It looks at the root from the first call on. Any goroutine may use it.
//
// It keeps a bounded number of updates. It does not wait for a follower: one that is too slow gets ErrBehind.
type Hub struct {
	cfg    Config
	epoch  string
	asked  sync.Once
	wanted chan struct{} // closed at the first call

	mu       sync.Mutex
	turn     chan struct{} // closed and replaced when one of the fields below has changed
	n        uint64        // number of the last update; 0: no look yet
	began    bool          // the View has made its first look
	sessions []Session
	mails    *Mails
	ring     []Numbered // the last one has number n, unless a View has just begun
	size     int        // about the bytes of ring
	failed   error      // why there are no looks at present
	ended    error      // why there will be no looks any more
}

// NewHub makes a hub. It ignores cfg.Backlog: the hub begins with as many messages as it keeps.
func NewHub(cfg Config) *Hub {
	cfg.Backlog = hubMails
	return &Hub{cfg: cfg, epoch: rand.Text(), wanted: make(chan struct{}), turn: make(chan struct{}), mails: NewMails(hubMails, hubContent)}
}

var errEnded = errors.New("the view of the root has ended")

// Run looks at the root until ctx ends, or until the root is replaced, which returns ErrReplaced. If it panics, all calls return an
// error until it is run again.
func (h *Hub) Run(ctx context.Context) error {
	defer func() {
		if p := recover(); p != nil {
			h.change(func() { h.failed = survive.ErrPanic })
			panic(p) // its caller logs it
		}
	}()
	select {
	case <-h.wanted:
	case <-ctx.Done():
		h.change(func() { h.ended = errEnded })
		return nil
	}
	for {
		h.change(func() { h.began = false })
		err := New(h.cfg).Run(ctx, func(u Update) error {
			h.change(func() { h.take(u) })
			return nil
		})
		if ctx.Err() != nil {
			err = nil
		}
		if err == nil || errors.Is(err, ErrReplaced) {
			h.change(func() { h.ended = cmp.Or(err, errEnded) })
			return err
		}
		h.change(func() { h.failed = err })
		select {
		case <-ctx.Done():
		case <-time.After(hubAgain):
		}
	}
}

// change runs do under the lock, and wakes the waiting followers.
func (h *Hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	close(h.turn)
	h.turn = make(chan struct{})
}

// take keeps an update. The first one of a View is the whole state: followers of an older View must take a Snapshot.
func (h *Hub) take(u Update) {
	h.n++
	if u.Sessions != nil {
		h.sessions = u.Sessions
		for i := range h.ring { // a follower needs only the newest list
			h.size -= len(h.ring[i].Sessions) * sessionSize
			h.ring[i].Sessions = nil
		}
	}
	if !h.began {
		h.began, h.failed = true, nil
		h.mails, h.ring, h.size = NewMails(hubMails, hubContent), nil, 0
		h.mails.Add(u.Events)
		return
	}
	one := Numbered{N: h.n, Update: u}
	for _, m := range h.mails.Add(u.Events) {
		one.Mails = append(one.Mails, *m)
	}
	one.Events = slices.Clone(u.Events)
	for i := range one.Events {
		one.Events[i].Message.Content, one.Events[i].Message.Extra = "", nil
	}
	h.ring = append(h.ring, one)
	h.size += one.size()
	for len(h.ring) > hubRing || h.size > hubBytes {
		h.size -= h.ring[0].size()
		h.ring = slices.Delete(h.ring, 0, 1)
	}
}

// About how many bytes a session, an event, and a message without content take.
const (
	sessionSize = 1 << 10
	eventSize   = 512
	mailSize    = 512
)

func (n Numbered) size() int {
	sum := len(n.Sessions)*sessionSize + len(n.Events)*eventSize
	for _, m := range n.Mails {
		sum += mailSize + len(m.Content)
	}
	return sum
}

// Now returns the state, after the first look. If there are no looks at present it returns the reason; a later call may succeed.
func (h *Hub) Now(ctx context.Context) (Snapshot, error) {
	h.want()
	for {
		h.mu.Lock()
		turn, err := h.turn, cmp.Or(h.ended, h.failed)
		if err == nil && h.began {
			defer h.mu.Unlock()
			return h.snapshot(), nil
		}
		h.mu.Unlock()
		if err != nil {
			return Snapshot{}, err
		}
		select {
		case <-ctx.Done():
			return Snapshot{}, ctx.Err()
		case <-turn:
		}
	}
}

// snapshot makes a Snapshot. The caller holds the lock.
func (h *Hub) snapshot() Snapshot {
	s := Snapshot{Epoch: h.epoch, N: h.n, Sessions: slices.Clone(h.sessions)}
	for _, m := range h.mails.All() {
		s.Mails = append(s.Mails, *m)
	}
	return s
}

// Follow calls tell with each update after a number, in order, until ctx ends or tell fails. It returns ErrBehind if the next one
// is not kept, and ErrReplaced if the root was replaced. tell must not change its argument, which is shared.
func (h *Hub) Follow(ctx context.Context, after uint64, tell func(Numbered) error) error {
	h.want()
	for {
		next, turn, err := h.behind(after)
		if err != nil {
			return err
		}
		if turn == nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := tell(next); err != nil {
				return err
			}
			after = next.N
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-turn:
		}
	}
}

// behind returns the next update, or else a channel to wait for.
func (h *Hub) behind(after uint64) (next Numbered, turn chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case after == h.n && h.ended != nil:
		return next, nil, h.ended
	case after == h.n:
		return next, h.turn, nil
	case after > h.n || len(h.ring) == 0 || after+1 < h.ring[0].N:
		return next, nil, ErrBehind
	}
	return h.ring[after+1-h.ring[0].N], nil, nil
}

func (h *Hub) want() { h.asked.Do(func() { close(h.wanted) }) }
