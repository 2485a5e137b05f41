package qwen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// maxCarry bounds one message, in bytes. The client takes a megabyte, but a turn should not start with so much.
const maxCarry = 64 << 10

// Carrier carries messages over the socket. Its receipt is the client's record of the session.
type Carrier struct {
	Socket *Socket
	Chats  string // the directory with the client's records of its sessions
	// Carry calls Held when the client holds the messages until its person accepts them. No other reader may take them
	// then: the model would see them twice if the person accepts later.
	Held func(context.Context, []mail.Message)
	// Failed returns when the session's model last failed, zero if it has answered since; nil: not known. A failed turn may
	// leave no record of the messages that began it, although the client has them.
	Failed func() time.Time
}

// Carry implements wake.Carrier. It keeps messages that the client has queued from other readers, however long the turn takes.
func (c *Carrier) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	text, from, n := pack(msgs)
	if n == 0 {
		return nil, c.Socket.Ring(ctx, wake.NoticeOf(msgs)) // the end of the turn hands over the first message
	}
	msgs = msgs[:n]
	r := &record{dir: c.Chats, session: c.Socket.Session}
	if err := r.skip(); err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := c.Socket.send(ctx, from, text)
	if err != nil {
		return nil, err
	}
	defer p.close()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	silent, told := time.Now().Add(answerTime), false
	for {
		shown, err := r.shows(msgs)
		for _, m := range shown {
			had = append(had, m.Handle())
		}
		if len(had) > 0 || err != nil {
			return had, err
		}
		status := p.last()
		if status == delivered && c.Failed != nil && c.Failed().After(began) {
			return inbox.Handles(msgs), nil
		}
		if status == held && !told {
			told = true
			c.Held(ctx, msgs)
		}
		if err := verdict(status); err != nil {
			return nil, err
		}
		if time.Now().After(silent) && status != held && (status != delivered || !r.there) {
			return nil, fmt.Errorf("%w: no sign that it has the messages within %v", wake.ErrUncaptured, answerTime)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %v", wake.ErrUncaptured, context.Cause(ctx))
		case <-p.changed:
		case <-tick.C:
		}
	}
}

// lookEvery is how often Carry reads the record: the client keeps the file open, so the kernel reports no close.
const lookEvery = time.Second / 20

// pack takes whole messages in order while they fit; n says how many, and from names their senders.
func pack(msgs []mail.Message) (text, from string, n int) {
	var names []string
	for _, m := range msgs {
		part := m.Envelope()
		if len(text)+len(part) > maxCarry {
			break
		}
		text += part + "\n"
		if name := cmp.Or(m.Sender(), "another session"); !slices.Contains(names, name) {
			names = append(names, name)
		}
		n++
	}
	return text, strings.Join(names, ", "), n
}
