package deadlines

import (
	"context"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// relayReader is the name under which the relay leases an outbox.
const relayReader = "relay"

// lookIntoOutboxes looks for expired and for long-waiting messages to other machines, and returns when to look again. It
// notifies the senders of expired messages; tellNews notifies the senders of waiting ones. All these messages stay in the outbox: the other
// machine may have them, and its receipts may be under way. The relay removes an expired message when the other machine has refused it.
func (c *Checker) lookIntoOutboxes(ctx context.Context, rows []sessions.Row) (next time.Time) {
	names, err := c.reg.Dir().Names()
	if err != nil {
		c.reg.Log.Warn("expired mail for other machines is not noticed", "err", err)
	}
	now := c.reg.Now()
	for _, name := range names {
		sid, isLock := strings.CutSuffix(name, ".inbox.lock")
		if !isLock || !strings.HasPrefix(sid, sessions.HostPrefix) || !mail.ValidName(sid) || ctx.Err() != nil {
			continue
		}
		if c.Clock.waits(now) {
			return c.Clock.calm
		}
		if c.boxes[sid] == nil {
			c.boxes[sid] = &boxMemory{}
		}
		mem := c.boxes[sid]
		if err := c.lookIntoOutbox(ctx, rows, sid, mem, now); err != nil && ctx.Err() == nil {
			if !mem.failed {
				c.reg.Log.Warn("expired mail for another machine is not noticed", "outbox", sid, "err", err)
			}
			*mem = boxMemory{failed: true, next: now.Add(retryAfter)}
		}
		next = sessions.Earlier(next, mem.next)
	}
	return next
}

func (c *Checker) lookIntoOutbox(ctx context.Context, rows []sessions.Row, sid string, mem *boxMemory, now time.Time) error {
	if mem.failed && now.Before(mem.next) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait)
	defer cancel()
	box, err := c.reg.Mailbox(sid)
	if err != nil {
		return err
	}
	stamp, err := box.Stamp()
	if err != nil || stamp == mem.stamp && (mem.next.IsZero() || now.Before(mem.next)) {
		return err
	}
	waits, err := box.PeekAll(ctx)
	if err != nil {
		return err
	}
	leased, err := box.Held(ctx, relayReader)
	if err != nil {
		return err
	}
	*mem = boxMemory{stamp: stamp}
	told, late := owed.Quota{}, owed.Quota{}
	var all []owed.News
	for _, m := range append(leased, waits...) {
		switch {
		case !m.Expired(mail.Seconds(now)):
			if m.ExpiresAt != 0 {
				mem.next = sessions.Earlier(mem.next, mail.FromSeconds(m.ExpiresAt))
			}
			if to := (sessions.Session{Alias: m.To, State: sessions.Remote}); late.Take(m) {
				mem.expect(to, m, now)
			}
		case told.Take(m):
			n := owed.News{Message: m, Reason: owed.Expired}
			if to := owed.SenderOf(c.reg, rows, m); to != nil && !c.wasTold(ctx, to.SID(), n.Notice()) {
				all = append(all, n)
				delete(c.asked, to.SID()) // so the next look reads from the mailbox whether the notice was stored
			}
		}
	}
	owed.TellSenders(ctx, c.reg, rows, all)
	return ctx.Err() // a sender whose mailbox is locked gets its notice at a later look
}
