package outside

import (
	"context"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

const (
	batch   = 32               // messages that are acknowledged together
	ackTime = 10 * time.Second // how long an acknowledgement may wait for a lock
)

// senderMail delivers the mail of a sender outside to one stream.
type senderMail struct {
	l   *listener
	sid string
	box *inbox.Mailbox

	had  string                    // see position.had; "" after senderMail has skipped the message
	seen int                       // number of messages written since the client's position
	sent map[mail.Fingerprint]bool // messages that this stream wrote before they came into the archive
	wait time.Time                 // after an error: do not read the mailbox before this time
}

func newSenderMail(l *listener, sid string) (*senderMail, error) {
	box, err := l.open.Broker.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	return &senderMail{l: l, sid: sid, box: box, sent: map[mail.Fingerprint]bool{}}, nil
}

// deliver writes all mail that waits for the sender or is new in its archive. It returns an error only if the stream cannot be written.
func (p *senderMail) deliver(ctx context.Context) error {
	if time.Now().Before(p.wait) {
		return nil
	}
	p.wait = time.Time{}
	turn := mailbox{p.l.open, p.sid}
	for {
		if ok, err := p.fromArchive(); err != nil || !ok {
			return err
		}
		freed := p.l.h.turns.freed()
		switch some, err := p.box.Waiting(); {
		case err != nil:
			p.trouble(ctx, err)
			return nil
		case !some && p.l.h.turns.isEmpty(turn, freed):
			return nil
		case !some:
			continue
		}
		if !p.l.h.turns.take(turn) {
			return nil // another stream writes the mail, and then puts it into the archive
		}
		n, err := p.useTurn(ctx, turn)
		if err != nil || n == 0 {
			return err
		}
		if ok, err := p.fromArchive(); err != nil || !ok { // moves the position past the messages
			return err
		}
		if n > 1 { // the last event's id names only one of these messages: without a mark, a client that reconnects would get the others twice
			if err := p.l.mark(); err != nil {
				return err
			}
		}
	}
}

// useTurn hands over waiting mail and gives up the turn. If no mail can be handed over now, it looks again for each stream that asked for
// the turn meanwhile. To wake these streams would be wrong: one of them would find nothing either and wake the others, without end.
func (p *senderMail) useTurn(ctx context.Context, turn mailbox) (n int, err error) {
	for {
		n, err = p.hand(ctx)
		if n > 0 || err != nil || p.paused() || ctx.Err() != nil { // a stream that has ended looks for nobody
			p.l.h.turns.free(turn)
			return n, err
		}
		if p.l.h.turns.freeUnlessAsked(turn) {
			return 0, nil
		}
	}
}

// lease takes the mail that can be handed over now; nil: there is none.
//
// The same goroutine writes all other events, and a suspended process may hold the mailbox's lock for days. Therefore lease waits at most
// sessions.KeepWait for the lock. Only the stream that has the turn calls it: if all streams of a sender tried to take the lock at the same
// time, some would wait longer than that.
func (p *senderMail) lease(ctx context.Context) (*inbox.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait)
	defer cancel()
	if ready, err := p.box.Ready(ctx); err != nil || !ready {
		return nil, err
	}
	return p.box.Lease(ctx, sessions.ByEvents, 1)
}

// paused reports whether deliver leaves the mailbox alone after an error.
func (p *senderMail) paused() bool { return !p.wait.IsZero() }

// retry returns a channel that shows when to call deliver after an error. Without an error it never does.
func (p *senderMail) retry() <-chan time.Time {
	if p == nil || !p.paused() {
		return nil
	}
	return time.After(time.Until(p.wait))
}

// trouble logs an error, and makes deliver leave the mailbox alone for mailGap, see retry.
func (p *senderMail) trouble(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	p.wait = time.Now().Add(mailGap)
	p.l.h.cfg.Log.Warn("the mailbox of a sender outside cannot be read", "session_id", p.sid, "err", err)
}

// fromArchive writes mail that other streams have put into the archive. ok is false if the archive cannot be read now.
func (p *senderMail) fromArchive() (ok bool, err error) {
	for {
		r, behind, there, err := p.box.Archive().Next(p.l.at.place)
		if err != nil {
			p.trouble(context.Background(), err)
			return false, nil
		}
		p.l.at.place, p.l.at.had = behind, ""
		if !there {
			return true, nil
		}
		switch t := r.Fingerprint(); {
		case p.sent[t]:
			delete(p.sent, t)
			continue
		case p.had != "" && p.had == r.ID:
			p.had = ""
			continue
		}
		p.count()
		if err := p.l.reply(r.Message); err != nil {
			return false, err
		}
	}
}

// count counts a written message. If more than batch messages were written and none was p.had, no later message can be p.had. Then count
// clears p.had.
func (p *senderMail) count() {
	if p.seen++; p.seen > batch {
		p.had = ""
	}
}

// fromMailbox writes a message that is not in the archive yet. It skips the message if the client has it already: that happens
// when a daemon ended after it had written the message and before it archived the message.
func (p *senderMail) fromMailbox(m mail.Message) error {
	if p.had != "" && m.ID == p.had {
		p.had = ""
		return nil
	}
	p.count()
	if mail.ValidName(m.ID) {
		p.l.at.had = m.ID
	}
	return p.l.reply(m)
}

// hand writes waiting mail and acknowledges it; the acknowledgement moves the mail into the archive. hand returns the number of
// messages. If a write fails, all of this mail waits again. The caller has the turn (mailTurns).
func (p *senderMail) hand(ctx context.Context) (n int, err error) {
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
		if err := p.fromMailbox(m); err != nil {
			lease.Release()
			return 0, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	if err := lease.Ack(ctx, inbox.Handles(msgs)...); err != nil {
		p.trouble(context.Background(), err) // c2c may deliver the mail again, with the same ids; ctx may have ended
		return 0, nil
	}
	for _, m := range msgs {
		if !m.Ephemeral {
			p.sent[m.Fingerprint()] = true
		}
	}
	return len(msgs), nil
}
