package inbox

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"c2c/inbox/filelock"
)

// turn is the queue of the goroutines that deliver through one Mailbox: one at a
// time goes for the lock, and stores what the others have drafted meanwhile. It
// is to them what the queued files are to processes, without the files.
type turn struct {
	taken chan struct{}

	mu     sync.Mutex
	drafts []*draft
}

func newTurn() turn { return turn{taken: make(chan struct{}, 1)} }

// take returns with the turn, unless it fails or says that another goroutine has
// stored the draft.
func (t *turn) take(ctx context.Context, d *draft) (stored bool, err error) {
	select {
	case t.taken <- struct{}{}:
		return false, nil
	default:
	}
	t.mu.Lock()
	t.drafts = append(t.drafts, d)
	t.mu.Unlock()
	select {
	case t.taken <- struct{}{}:
		if t.withdraw(d) {
			return false, nil
		}
		sign := <-d.signed // by who had the turn before
		d.look(sign)
		if sign == signStored {
			t.pass()
		}
		return sign == signStored, nil
	case sign := <-d.signed:
		if sign == signStored {
			return true, nil
		}
		d.look(sign)
		return t.take(ctx, d)
	case <-ctx.Done():
		// What is claimed is being stored at this moment.
		if !t.withdraw(d) && <-d.signed == signStored {
			return true, nil
		}
		return false, fmt.Errorf("wait for other senders: %w (%v)", filelock.ErrTimeout, context.Cause(ctx))
	}
}

// pass lets the next one have the turn.
func (t *turn) pass() { <-t.taken }

// withdraw says whether nobody has claimed the draft.
func (t *turn) withdraw(d *draft) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.drafts)
	t.drafts = slices.DeleteFunc(t.drafts, func(other *draft) bool { return other == d })
	return len(t.drafts) < n
}

// claim takes away the drafts that f wants. The caller has the turn.
func (t *turn) claim(f func(*draft) bool) {
	runtime.Gosched() // those whose drafts were just stored have the next ones in hand
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drafts = slices.DeleteFunc(t.drafts, f)
}
