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

// maxCarry bounds the envelopes of one message, in bytes. The client takes up to a megabyte, but a
// turn should not start with that much.
const maxCarry = 64 << 10

// Carrier carries messages over the socket. A message has arrived when the client's record of the
// session shows it.
type Carrier struct {
	Socket *Socket
	Chats  string // the directory with the client's records of its sessions
	// Carry calls Held when the client holds the messages until its person accepts them. Held must
	// keep the messages from other readers; otherwise the model would see them twice if the person
	// accepts later.
	Held func(context.Context, []mail.Message)
	// Failed returns the time at which the session's model last failed, or zero if the model has
	// answered since. A nil Failed means: not known. After a failed turn the record may lack the
	// messages that began the turn, although the client has them.
	Failed func() time.Time
}

// Carry implements wake.Carrier. Carry waits while the client has the messages in its queue,
// however long the turn takes, so that no other reader gets them.
func (c *Carrier) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	text, from, n := pack(msgs)
	if n == 0 {
		return nil, c.Socket.Ring(ctx, wake.NoticeOf(msgs)) // too long: the hook at the end of the turn hands over the first message
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
		shown, err := r.newlyShown(msgs)
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
		if time.Now().After(silent) && status != held && (status != delivered || !r.exists) {
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

// lookEvery is the time between two reads of the record. Watching the file would not help: the
// kernel reports a file that a writer has closed, and the client keeps the record open.
const lookEvery = time.Second / 20

// pack joins the first messages into one text, as many as fit whole into maxCarry. The result n is
// the number of these messages, and from names their senders. The text ends with a line that says
// how to answer, because at first the client does not show its model the tools of c2c. This line
// comes last, because the client shows its person only how the text begins.
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
	if n > 0 {
		text += mail.HowToAnswer + "\n"
	}
	return text, strings.Join(names, ", "), n
}
