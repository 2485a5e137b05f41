package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/inbox"
)

// Swept is what a sweep did.
type Swept struct {
	Sessions  []Session // no longer registered
	Messages  int       // now dead letters
	Mailboxes []SweptMailbox
}

// SweptMailbox is a mailbox without a session in which there was mail, or that could not be emptied.
type SweptMailbox struct {
	SessionID string `json:"session_id"`
	Messages  int    `json:"messages"`        // now dead letters
	Error     string `json:"error,omitempty"` // why the rest is still there
}

// Err tells of the mailboxes that could not be emptied.
func (s Swept) Err() error {
	var errs []error
	for _, m := range s.Mailboxes {
		if m.Error != "" {
			errs = append(errs, fmt.Errorf("sweep: %s", m.Error))
		}
	}
	return errors.Join(errs...)
}

const inboxSuffix = ".inbox.json"

// mailSuffixes are those of all that may hold a session's mail.
func mailSuffixes() []string { return []string{inboxSuffix, ".lease"} }

// Sweep drops the sessions whose client is gone, or never said which process it is, and which nobody used
// for the grace period; what waits for them becomes dead letters. So does what waits in a mailbox without
// a session. People at a terminal stay. The facts of a session stay too: when it comes back it gets
// its alias, if still free, and its dead letters. A mailbox that cannot be emptied is told in the answer, and
// stops no other.
func (b *Broker) Sweep(ctx context.Context, grace time.Duration) (Swept, error) {
	var swept Swept
	err := b.change(ctx, func(rows []row) ([]row, bool, error) {
		kept, gone := b.stale(rows, grace)
		swept.Sessions = gone
		return kept, len(gone) > 0, nil
	})
	if err != nil {
		return Swept{}, err
	}
	sids, err := b.mailboxes(ctx)
	if err != nil {
		return swept, err
	}
	for _, sid := range sids {
		if b.now().Sub(b.lastMail(sid)) < grace {
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
	err = b.change(ctx, func(rows []row) ([]row, bool, error) {
		if findSID(rows, sid) >= 0 {
			return nil, false, nil
		}
		_, err := b.takeOut(ctx, sid, func(messages []inbox.Message) ([]inbox.Message, error) {
			if err := b.addDead(ctx, sid, sweptMail(messages)...); err != nil {
				return messages, err
			}
			n += len(messages)
			return nil, nil
		})
		return nil, false, err
	})
	return n, err
}

func sweptMail(messages []inbox.Message) []DeadLetter {
	dead := make([]DeadLetter, len(messages))
	for i, m := range messages {
		dead[i].Message = m
	}
	return dead
}

// Stale lists the sessions that Sweep would drop.
func (b *Broker) Stale(ctx context.Context, grace time.Duration) ([]Session, error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, err
	}
	_, gone := b.stale(rows, grace)
	return gone, nil
}

func (b *Broker) stale(rows []row, grace time.Duration) (kept []row, gone []Session) {
	for _, r := range rows {
		s := b.session(r)
		if s.State == Alive || s.Person || b.now().Sub(b.lastUsed(r)) < grace {
			kept = append(kept, r)
		} else {
			gone = append(gone, s)
		}
	}
	return kept, gone
}

// lastUsed is the newest sign of life of a session.
func (b *Broker) lastUsed(r row) time.Time {
	last := fromSeconds(max(r.number("registered_at"), r.number("last_activity_ts"), r.number("confirmed_at")))
	for _, t := range []time.Time{b.lastMail(r.sid()), b.factsModified(r.sid())} {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// lastMail is when a mailbox last changed, wherever its mail is.
func (b *Broker) lastMail(sid string) (last time.Time) {
	for _, suffix := range mailSuffixes() {
		if t := b.modified(sid + suffix); t.After(last) {
			last = t
		}
	}
	return last
}

// modified is zero when there is no such file.
func (b *Broker) modified(name string) time.Time {
	info, err := b.root.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (b *Broker) factsModified(sid string) time.Time {
	dir, err := b.sessionsDir()
	if err != nil {
		return time.Time{}
	}
	defer dir.Close()
	info, err := dir.Stat(sid + ".json")
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
