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

// ErrBehind says that a follower asks for updates that the hub does not have any more. It takes Now again and goes on there.
var ErrBehind = errors.New("the updates behind that one are not kept")

// What a Hub keeps for those who look.
const (
	hubMails   = 500      // the newest messages
	hubContent = 16 << 10 // bytes of each
	hubRing    = 1024     // updates
	hubBytes   = 8 << 20  // of the updates together, about

	hubAgain = time.Second // until it looks again when it could not
)

// Numbered is an update, and how many were before it. The events have no contents: those are in Mails.
type Numbered struct {
	N uint64
	Update
	Mails []Mail // those that are new or have another state now
}

// Snapshot is how things are after the update N of an epoch.
type Snapshot struct {
	Epoch    string // another one when the hub is another one: its numbers mean nothing to this one
	N        uint64
	Sessions []Session
	Mails    []Mail // the oldest first
}

// Hub is one View for many who look. It looks at the root from the first time that somebody asks. Any goroutine may use it.
//
// What it keeps is bounded. A follower takes its updates when it likes, and nobody waits for it: one that is too slow is told
// so (ErrBehind).
type Hub struct {
	cfg    Config
	epoch  string
	asked  sync.Once
	wanted chan struct{} // closed when somebody has asked

	mu       sync.Mutex
	turn     chan struct{} // closed when something below has changed, and replaced
	n        uint64        // 0: it has not looked yet
	began    bool          // the View has made its first look
	sessions []Session
	mails    *Mails
	ring     []Numbered // the last of them is n, unless a View has just begun
	size     int        // of ring
	failed   error      // why nobody looks at present
	ended    error      // why nobody looks ever again
}

// NewHub makes a hub. Backlog of the Config means nothing: it is as much as a hub keeps.
func NewHub(cfg Config) *Hub {
	cfg.Backlog = hubMails
	return &Hub{cfg: cfg, epoch: rand.Text(), wanted: make(chan struct{}), turn: make(chan struct{}), mails: NewMails(hubMails, hubContent)}
}

var errEnded = errors.New("nobody looks at the root any more")

// Run looks at the root until ctx ends or the root is replaced, which is ErrReplaced. Its caller waits for it. When it panics,
// whoever asks is told so until it is run again.
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

// change does something with the lock, and tells who waits.
func (h *Hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	close(h.turn)
	h.turn = make(chan struct{})
}

// take keeps an update. The first one of a View is all that there is: who had an older one takes a Snapshot.
func (h *Hub) take(u Update) {
	h.n++
	if u.Sessions != nil {
		h.sessions = u.Sessions
		for i := range h.ring { // a follower needs the newest list alone
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

// About how many bytes a session, an event and a message take, without its content.
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

// Now gives how things are, after the first look. The error says why nobody can look: there may be none when one asks again.
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

// snapshot is called with the lock.
func (h *Hub) snapshot() Snapshot {
	s := Snapshot{Epoch: h.epoch, N: h.n, Sessions: slices.Clone(h.sessions)}
	for _, m := range h.mails.All() {
		s.Mails = append(s.Mails, *m)
	}
	return s
}

// Follow tells each update behind a number, in order, until ctx ends or tell fails. It is ErrBehind when the next one is not
// kept, and ErrReplaced when the root is another one now. What tell is given is shared with others: it must not be changed.
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

// behind gives the next update, or else what to wait for.
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
