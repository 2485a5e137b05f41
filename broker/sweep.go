package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

// Swept is what a sweep did, or would do. The fields of the original come first.
type Swept struct {
	Sessions  []SweptSession `json:"dropped_regs"` // no longer registered
	Deleted   int            `json:"deleted_inboxes"`
	Messages  int            `json:"preserved_messages"` // now dead letters
	Mailboxes []SweptMailbox `json:"mailboxes,omitempty"`
	Error     string         `json:"error,omitempty"` // why no mailbox was looked at
}

// SweptSession is a session that is no longer registered.
type SweptSession struct {
	ID    string `json:"session_id"`
	Alias string `json:"alias"`
}

// SweptMailbox is a mailbox without a session in which there was mail, or that could not be emptied.
type SweptMailbox struct {
	SessionID string `json:"session_id"`
	Messages  int    `json:"messages"`        // now dead letters
	Error     string `json:"error,omitempty"` // why the rest is still there
}

// Err tells what could not be swept.
func (s Swept) Err() error {
	var errs []error
	if s.Error != "" {
		errs = append(errs, fmt.Errorf("sweep: %s", s.Error))
	}
	for _, m := range s.Mailboxes {
		if m.Error != "" {
			errs = append(errs, fmt.Errorf("sweep: %s", m.Error))
		}
	}
	return errors.Join(errs...)
}

// Sweep drops the sessions whose client is gone, or never said which process it is, and which nobody used
// for the grace period; what waits for them becomes dead letters. So does what waits in a mailbox without
// a session. People at a terminal stay. The facts of a session stay too: when it comes back it gets
// its alias, if still free, and its dead letters. A mailbox that cannot be emptied is told in the answer, and
// stops no other.
func (b *Broker) Sweep(ctx context.Context, grace time.Duration) (Swept, error) {
	var swept Swept
	err := b.change(ctx, func(rows []row) (kept []row, err error) {
		kept, swept = b.stale(rows, grace)
		return kept, nil
	})
	if err != nil {
		return Swept{}, err
	}
	sids, err := b.mailboxes(ctx)
	if err != nil { // the sessions are dropped already
		swept.Error = err.Error()
		return swept, nil
	}
	for _, sid := range sids {
		if b.now().Sub(b.lastChange(sid)) < grace {
			continue
		}
		n, err := b.sweepMailbox(ctx, sid)
		m := SweptMailbox{SessionID: sid, Messages: n}
		if err != nil {
			m.Error = err.Error()
		}
		if n > 0 || err != nil {
			swept.Mailboxes = append(swept.Mailboxes, m)
		}
		swept.Messages += n
	}
	return swept, nil
}

// sweepMailbox makes dead letters of what waits in a mailbox without a session. It holds the registry's lock:
// a session that comes back meanwhile would find an empty mailbox, and not look among the dead letters.
func (b *Broker) sweepMailbox(ctx context.Context, sid string) (n int, err error) {
	err = b.change(ctx, func(rows []row) ([]row, error) {
		if findSID(rows, sid) >= 0 {
			return rows, nil
		}
		told := quota{}
		err := b.emptyMailbox(ctx, sid, func(messages []inbox.Message) (int, error) {
			var dead []DeadLetter
			for _, m := range messages {
				if !m.IsNotice() { // which is dropped
					dead = append(dead, DeadLetter{Message: m})
				}
			}
			if err := b.addDead(ctx, sid, dead...); err != nil {
				return 0, err
			}
			b.tellDead(ctx, rows, told, dead...)
			n += len(dead)
			return len(messages), nil
		})
		if err == nil {
			b.closeDebts(ctx, sid, WasSwept, func(inbox.Message) bool { return true })
		}
		return rows, err
	})
	return n, err
}

// Stale tells which sessions Sweep would drop.
func (b *Broker) Stale(ctx context.Context, grace time.Duration) (Swept, error) {
	rows, err := b.rows(ctx)
	_, gone := b.stale(rows, grace)
	return gone, err
}

func (b *Broker) stale(rows []row, grace time.Duration) (kept []row, gone Swept) {
	gone.Sessions = []SweptSession{}
	for _, r := range rows {
		if st := b.state(r); st == Alive || st == Person || st == External || b.now().Sub(b.lastUsed(r)) < grace {
			kept = append(kept, r)
		} else {
			gone.Sessions = append(gone.Sessions, SweptSession{r.sid(), r.alias()})
		}
	}
	gone.Deleted = len(gone.Sessions)
	return kept, gone
}

// lastUsed is when a session was last used, as far as the registry and its files tell.
func (b *Broker) lastUsed(r row) time.Time {
	last := inbox.FromSeconds(max(r.number("registered_at"), r.number("last_activity_ts"), r.number("confirmed_at")))
	if t := b.lastChange(r.sid()); t.After(last) {
		return t
	}
	return last
}

// lastChange is when a file of a session was last written; what cannot be looked at does not count.
func (b *Broker) lastChange(sid string) (last time.Time) {
	if box, err := b.Mailbox(sid); err == nil {
		last, _ = box.Changed()
	}
	if dir, err := b.sessionsDir(); err == nil {
		defer dir.Close()
		last = lastFacts(dir, sid, last)
	}
	return last
}

// lastFacts is when the facts of a session were last written, or last if that is later.
func lastFacts(dir *atomicfile.Dir, sid string, last time.Time) time.Time {
	if dir == nil {
		return last
	}
	for _, name := range []string{sid + ".json", sid + ".lock"} {
		if info, err := dir.Stat(name); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
