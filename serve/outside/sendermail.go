package outside

import (
	"context"
	"sync"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// batch is the number of messages that are acknowledged together.
const batch = 32

// turn lets one stream at a time hand over the mail of a sender, so that all streams get the
// answers in the same order.
type turn struct {
	sync.Mutex
	wait time.Time // after an error: no stream reads the mailbox before this time
}

// senderMail delivers the mail of a sender outside to one stream.
type senderMail struct {
	l    *listener
	sid  string
	box  *inbox.Mailbox
	turn *turn

	place int64                     // the client has all messages before this place in the archive
	sent  map[mail.Fingerprint]bool // messages that this stream wrote before they came into the archive
	wait  time.Time                 // after an error: do not call deliver before this time
}

func newSenderMail(l *listener, sid string) (*senderMail, error) {
	box, err := l.open.Broker.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	own, _ := l.h.turns.LoadOrStore(l.open.Broker.Root()+"/"+sid, new(turn))
	return &senderMail{l: l, sid: sid, box: box, turn: own.(*turn), sent: map[mail.Fingerprint]bool{}}, nil
}

// deliver writes all mail that waits for the sender or is new in its archive. It returns an error
// only if the stream cannot be written.
func (p *senderMail) deliver(ctx context.Context) error {
	if time.Now().Before(p.wait) {
		return nil
	}
	p.wait = time.Time{}
	for {
		if ok, err := p.fromArchive(); err != nil || !ok { // before the turn: a client may read a long archive slowly
			return err
		}
		if n, err := p.hand(ctx); err != nil || n == 0 {
			return err
		}
		if err := p.l.mark(); err != nil {
			return err
		}
	}
}

// hand writes waiting mail and acknowledges it; the acknowledgement moves the mail into the
// archive. hand returns the number of messages. If a write fails, all of this mail waits again.
func (p *senderMail) hand(ctx context.Context) (n int, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.wait = p.turn.wait; time.Now().Before(p.wait) {
		return 0, nil
	}
	p.wait = time.Time{}
	if ok, err := p.fromArchive(); err != nil || !ok {
		return 0, err
	}
	lease, err := p.lease(ctx)
	if err != nil || lease == nil {
		p.trouble(ctx, err)
		return 0, nil
	}
	msgs := lease.Messages[:min(len(lease.Messages), batch)]
	for _, m := range msgs {
		if err := p.l.reply(m); err != nil {
			lease.Release()
			return 0, err
		}
	}
	if err := lease.Ack(ctx, inbox.Handles(msgs)...); err != nil {
		p.trouble(context.Background(), err) // c2c may deliver the mail again, with the same ids; ctx may have ended
		return 0, nil
	}
	for _, m := range msgs {
		if !m.Ephemeral {
			p.sent[m.Fingerprint()] = true
		}
	}
	_, err = p.fromArchive() // moves the position past the messages
	return len(msgs), err
}

// lease takes the mail that can be handed over now; nil: there is none. The same goroutine writes
// all other events, and a suspended process may hold the mailbox's lock for days. Therefore lease
// waits at most sessions.KeepWait for the lock.
func (p *senderMail) lease(ctx context.Context) (*inbox.Lease, error) {
	if some, err := p.box.Waiting(); err != nil || !some {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait)
	defer cancel()
	if ready, err := p.box.Ready(ctx); err != nil || !ready {
		return nil, err
	}
	return p.box.Lease(ctx, inbox.ByEvents, 1)
}

// retry returns a channel that shows when to call deliver after an error. Without an error it never
// does.
func (p *senderMail) retry() <-chan time.Time {
	if p.wait.IsZero() {
		return nil
	}
	return time.After(time.Until(p.wait))
}

// trouble logs an error, and makes all streams leave the mailbox alone for mailGap, see retry. The
// caller has the turn.
func (p *senderMail) trouble(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	p.wait = time.Now().Add(mailGap)
	p.turn.wait = p.wait
	p.l.h.cfg.Log.Warn("the mailbox of a sender outside cannot be read", "session_id", p.sid, "err", err)
}

// fromArchive writes mail that other streams have put into the archive. ok is false if the archive
// cannot be read now.
func (p *senderMail) fromArchive() (ok bool, err error) {
	for {
		r, behind, there, err := p.box.Archive().Next(p.place)
		if err != nil {
			p.wait = time.Now().Add(mailGap)
			p.l.h.cfg.Log.Warn("the archive of a sender outside cannot be read", "session_id", p.sid, "err", err)
			return false, nil
		}
		p.place = behind
		if !there {
			return true, nil
		}
		if t := r.Fingerprint(); p.sent[t] {
			delete(p.sent, t)
			continue
		}
		if err := p.l.reply(r.Message); err != nil {
			return false, err
		}
	}
}
