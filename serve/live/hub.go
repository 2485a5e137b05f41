package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"c2c/broker"
	"c2c/internal/daemon"
)

// ErrBehind means that the hub has dropped the update that a follower needs next. The follower must
// call Now again, and then Follow with the number of the snapshot that Now has returned.
var ErrBehind = errors.New("the next updates are no longer kept")

// The limits of the data that a Hub keeps for its followers.
const (
	hubMails   = 500      // messages, the newest ones
	hubContent = 16 << 10 // bytes of the content of each message
	hubKept    = 1024     // updates, with their events and messages; the content of these messages is at most 16 MiB

	hubAgain = time.Second // pause between a View that has failed and the next View
)

// Numbered is an update with its number. The messages in Events have no content; the messages in
// Mails have it.
type Numbered struct {
	N uint64
	Update
	Mails []Mail // messages that are new or have a new state
}

// Snapshot is the state after update N.
type Snapshot struct {
	N        uint64
	Sessions []Session
	Mails    []Mail // oldest first
}

// Hub shares one View among many followers. It begins to read the root at the first call of Now or
// Follow. Any goroutine may use it.
//
// A Hub keeps a bounded number of updates, and does not wait for its followers. Therefore a
// follower that is too slow gets ErrBehind.
type Hub struct {
	b      *broker.Broker
	asked  sync.Once
	wanted chan struct{} // closed at the first call of Now or Follow

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when one of the fields below has changed
	n        uint64        // number of the last update; 0: no update has come yet
	began    bool          // the present View has reported its first update
	sessions []Session
	mails    *Mails
	kept     []Numbered // the newest updates; the last one has number n. Empty after the first update of a View
	size     int        // the updates, events and messages in kept
	failed   error      // why the View does not run at present
	ended    error      // why the View will never run again
}

// NewHub makes a hub. It begins with as many messages as it can keep.
func NewHub(b *broker.Broker) *Hub {
	return &Hub{b: b, wanted: make(chan struct{}), changed: make(chan struct{}), mails: NewMails(hubMails, hubContent)}
}

var errEnded = errors.New("the view of the root has ended")

// Run follows the root until ctx ends. If the root is replaced, it returns ErrReplaced. If it
// panics, Now returns an error until Run is called again and has read the root.
func (h *Hub) Run(ctx context.Context) error {
	defer func() {
		if p := recover(); p != nil {
			h.change(func() { h.failed = daemon.ErrPanic })
			panic(p) // the caller logs the panic
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
		err := New(h.b, hubMails).Run(ctx, func(u Update) error {
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

// change calls the function do with the lock held, and wakes the waiting calls of Now and Follow.
func (h *Hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	close(h.changed)
	h.changed = make(chan struct{})
}

// take stores an update. The first update of a View is the whole state, and is not kept: the
// followers of an older View get ErrBehind.
func (h *Hub) take(u Update) {
	h.n++
	if u.Sessions != nil {
		h.sessions = u.Sessions
		for i := range h.kept { // a follower needs only the newest list of sessions
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
	for h.size > hubKept {
		h.size -= h.kept[0].size()
		h.kept = slices.Delete(h.kept, 0, 1)
	}
}

func (n Numbered) size() int { return 1 + len(n.Events) + len(n.Mails) }

// Now waits for the View's first update, and returns the state. If the View does not run at
// present, Now returns the reason as an error; a later call may succeed.
func (h *Hub) Now(ctx context.Context) (Snapshot, error) {
	h.want()
	for {
		h.mu.Lock()
		changed, err := h.changed, cmp.Or(h.ended, h.failed)
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
		case <-changed:
		}
	}
}

// snapshot makes a Snapshot. The caller holds the lock.
func (h *Hub) snapshot() Snapshot {
	s := Snapshot{N: h.n, Sessions: slices.Clone(h.sessions)}
	for _, m := range h.mails.All() {
		s.Mails = append(s.Mails, *m)
	}
	return s
}

// Follow calls the function report with each update whose number is greater than the argument
// after, in order. It ends when ctx ends or report returns an error. It returns ErrBehind if the
// hub has dropped the next update, and ErrReplaced if the root was replaced. The function report
// must not change its argument, because all followers share it.
func (h *Hub) Follow(ctx context.Context, after uint64, report func(Numbered) error) error {
	h.want()
	for {
		next, changed, err := h.next(after)
		if err != nil {
			return err
		}
		if changed == nil {
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
		case <-changed:
		}
	}
}

// next returns the update that follows the update with the number after. If no update has followed
// yet, next returns a channel that is closed when one may have come.
func (h *Hub) next(after uint64) (next Numbered, changed chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case after == h.n && h.ended != nil:
		return next, nil, h.ended
	case after == h.n:
		return next, h.changed, nil
	case after > h.n || len(h.kept) == 0 || after+1 < h.kept[0].N:
		return next, nil, ErrBehind
	}
	return h.kept[after+1-h.kept[0].N], nil, nil
}

func (h *Hub) want() { h.asked.Do(func() { close(h.wanted) }) }
