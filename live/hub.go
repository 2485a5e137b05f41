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

// ErrBehind: the hub has dropped the update that a follower needs next. The follower must call Now again, and follow from that snapshot.
var ErrBehind = errors.New("the next updates are no longer kept")

// The limits of the data that a Hub keeps for its followers.
const (
	hubMails   = 500      // newest messages
	hubContent = 16 << 10 // bytes of the content of each message
	hubUpdates = 1024     // updates
	hubBytes   = 8 << 20  // about the bytes of all updates

	hubAgain = time.Second // pause after the View has failed
)

// Numbered is an update with its number. The messages in its events have no content; Mails has it.
type Numbered struct {
	N uint64
	Update
	Mails []Mail // messages that are new or have a new state
}

// Snapshot is the state after update N of an epoch.
type Snapshot struct {
	Epoch    string // identifies the hub: numbers of another hub mean nothing here
	N        uint64
	Sessions []Session
	Mails    []Mail // oldest first
}

// Hub shares one View among many followers. It begins to read the root at the first call. Any goroutine may use it.
//
// It keeps a bounded number of updates. It does not wait for its followers: a follower that is too slow gets ErrBehind.
type Hub struct {
	cfg    Config
	epoch  string
	asked  sync.Once
	wanted chan struct{} // closed at the first call

	mu       sync.Mutex
	turn     chan struct{} // closed and replaced when one of the fields below has changed
	n        uint64        // number of the last update; 0: there is none yet
	began    bool          // the View has reported its first update
	sessions []Session
	mails    *Mails
	kept     []Numbered // the last update has number n; empty if a View has just begun
	size     int        // about the bytes of kept
	failed   error      // why the View does not run at present
	ended    error      // why the View will never run again
}

// NewHub makes a hub. It ignores cfg.Backlog: the hub begins with as many messages as it can keep.
func NewHub(cfg Config) *Hub {
	cfg.Backlog = hubMails
	return &Hub{cfg: cfg, epoch: rand.Text(), wanted: make(chan struct{}), turn: make(chan struct{}), mails: NewMails(hubMails, hubContent)}
}

var errEnded = errors.New("the view of the root has ended")

// Run follows the root until ctx ends. If the root is replaced, it returns ErrReplaced. If it panics, all calls return an error until Run
// is called again.
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

// change calls do under the lock, and wakes the waiting followers.
func (h *Hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	close(h.turn)
	h.turn = make(chan struct{})
}

// take keeps an update. The first update of a View is the whole state, so followers of an older View must take a Snapshot.
func (h *Hub) take(u Update) {
	h.n++
	if u.Sessions != nil {
		h.sessions = u.Sessions
		for i := range h.kept { // a follower needs only the newest list
			h.size -= len(h.kept[i].Sessions) * sessionSize
			h.kept[i].Sessions = nil
		}
	}
	if !h.began {
		h.began, h.failed = true, nil
		h.mails, h.kept, h.size = NewMails(hubMails, hubContent), nil, 0
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
	h.kept = append(h.kept, one)
	h.size += one.size()
	for len(h.kept) > hubUpdates || h.size > hubBytes {
		h.size -= h.kept[0].size()
		h.kept = slices.Delete(h.kept, 0, 1)
	}
}

// The approximate sizes of a session, of an event, and of a message without content, in bytes.
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

// Now returns the state; it waits for the View's first update. If the View does not run at present, it returns the reason as an error; a
// later call may succeed.
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

// Follow calls report with each update after number `after`, in order, until ctx ends or report returns an error. It returns ErrBehind if
// the hub has dropped the next update, and ErrReplaced if the root was replaced. report must not change its argument, because all
// followers share it.
func (h *Hub) Follow(ctx context.Context, after uint64, report func(Numbered) error) error {
	h.want()
	for {
		next, turn, err := h.next(after)
		if err != nil {
			return err
		}
		if turn == nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := report(next); err != nil {
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

// next returns the update after a number. If there is none yet, it returns a channel that is closed when there may be one.
func (h *Hub) next(after uint64) (next Numbered, turn chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case after == h.n && h.ended != nil:
		return next, nil, h.ended
	case after == h.n:
		return next, h.turn, nil
	case after > h.n || len(h.kept) == 0 || after+1 < h.kept[0].N:
		return next, nil, ErrBehind
	}
	return h.kept[after+1-h.kept[0].N], nil, nil
}

func (h *Hub) want() { h.asked.Do(func() { close(h.wanted) }) }
