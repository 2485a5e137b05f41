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

// maxCarry bounds one message. The client takes a megabyte; a turn need not start with so much.
const maxCarry = 64 << 10

// Carrier carries messages over the socket. Its receipt is what the client writes of the session.
type Carrier struct {
	Socket *Socket
	Chats  string // the directory with the client's records of its sessions
	// Held is told when the client keeps the messages until its person accepts them. Nobody else may have them then:
	// what is accepted later would be shown twice.
	Held func(context.Context, []mail.Message)
	// Failed is when the session's model failed last, zero if it has answered since; nil: nothing tells. A turn that fails may leave no record
	// of the messages that it began with, and the client has them all the same.
	Failed func() time.Time
}

// Carry implements wake.Carrier. What the client has queued is nobody else's, however long its turn takes.
func (c *Carrier) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	text, from, n := pack(msgs)
	if n == 0 {
		return nil, c.Socket.Ring(ctx, wake.NoticeOf(msgs)) // the end of the turn hands the first one over
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

// lookEvery is how often the record is looked at: the client keeps its file open, so nothing tells of a change.
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
