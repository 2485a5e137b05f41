package moves

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Swept is what a sweep did, or would do.
type Swept struct {
	Sessions  []SweptSession `json:"dropped_regs"` // no longer registered
	Deleted   int            `json:"deleted_inboxes"`
	Messages  int            `json:"preserved_messages"` // those that are dead letters now
	Mailboxes []SweptMailbox `json:"mailboxes,omitempty"`
	Error     string         `json:"error,omitempty"` // why no mailbox was read
}

// SweptSession is a session that is no longer registered.
type SweptSession struct {
	ID    string `json:"session_id"`
	Alias string `json:"alias"`
}

// SweptMailbox is a mailbox that belongs to no session. It had mail, or could not be emptied.
type SweptMailbox struct {
	SessionID string `json:"session_id"`
	Messages  int    `json:"messages"`        // those that are dead letters now
	Error     string `json:"error,omitempty"` // why some mail is still there
}

// Err returns an error for everything that could not be swept.
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

// Sweep removes the rows of sessions that were unused for the grace period and of whose client c2c
// sees no process. Their waiting mail becomes dead letters. So does mail in a mailbox without a
// session. People at a terminal and senders outside stay. The facts of a session stay, too. When
// the session comes back, it gets its dead letters, and its alias if the alias is still free. If a
// mailbox cannot be emptied, Swept has the error, and the sweep goes on.
func Sweep(ctx context.Context, reg *sessions.Registry, grace time.Duration) (Swept, error) {
	var swept Swept
	err := reg.Change(ctx, func(rows []sessions.Row) (kept []sessions.Row, err error) {
		kept, swept = stale(reg, rows, grace)
		return kept, nil
	})
	if err != nil {
		return Swept{}, err
	}
	sids, err := reg.Mailboxes(ctx)
	if err != nil { // Sweep returns no error, because it has removed the rows already
		swept.Error = err.Error()
		return swept, nil
	}
	for _, sid := range sids {
		if sessions.IsHostID(sid) || reg.Now().Sub(reg.LastChange(sid)) < grace {
			continue
		}
		n, err := sweepMailbox(ctx, reg, sid)
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

// sweepMailbox makes dead letters of the mail in a mailbox without a session. It holds the
// registry's lock: otherwise a session could come back meanwhile, find its mailbox empty, and not
// look at the dead letters.
func sweepMailbox(ctx context.Context, reg *sessions.Registry, sid string) (n int, err error) {
	err = reg.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		if sessions.FindSID(rows, sid) >= 0 {
			return rows, nil
		}
		told := owed.Quota{}
		err := EmptyMailbox(ctx, reg, sid, func(messages []mail.Message) (int, error) {
			var dead []owed.DeadLetter
			for _, m := range messages {
				if !m.IsNotice() { // a notice is dropped
					dead = append(dead, owed.DeadLetter{Message: m})
				}
			}
			if err := owed.AddDead(ctx, reg, sid, dead...); err != nil {
				return 0, err
			}
			owed.TellDead(ctx, reg, rows, told, dead...)
			n += len(dead)
			return len(messages), nil
		})
		if err == nil {
			owed.CloseRecords(ctx, reg, sid, owed.WasSwept, func(mail.Message) bool { return true })
		}
		return rows, err
	})
	return n, err
}

// Stale returns the sessions that Sweep would remove, and changes nothing.
func Stale(ctx context.Context, reg *sessions.Registry, grace time.Duration) (Swept, error) {
	rows, err := reg.Rows(ctx)
	_, gone := stale(reg, rows, grace)
	return gone, err
}

func stale(reg *sessions.Registry, rows []sessions.Row, grace time.Duration) (kept []sessions.Row, gone Swept) {
	gone.Sessions = []SweptSession{}
	look := reg.Prober()
	for _, r := range rows {
		if st := look.Session(r).State; st == sessions.Alive || st == sessions.Person || st == sessions.External || reg.Now().Sub(reg.LastUsed(r)) < grace {
			kept = append(kept, r)
		} else {
			gone.Sessions = append(gone.Sessions, SweptSession{r.SID(), r.Alias()})
		}
	}
	gone.Deleted = len(gone.Sessions)
	return kept, gone
}
