package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

const (
	// receiptTime is how long a hook of an idle client may take to archive carried messages.
	receiptTime = 15 * time.Second
	// busyTime is the same limit for a busy client, which takes messages when its tool call ends.
	// If the ringer released the lease earlier, that call's hook would show the messages a second
	// time.
	busyTime = 10 * time.Minute
)

// Receipt carries messages to a client that does not report what it received. The receipt comes
// from our hook in the client, which archives the messages that the client's model has got
// (inbox.Mailbox.Receive).
type Receipt struct {
	Box  *inbox.Mailbox
	Busy func(context.Context) bool // reports whether the client works; nil: never
}

// maxCarry is how many bytes of messages Receipt carries at once. Claude Code takes a megabyte, but
// a turn should not start with that much.
const maxCarry = 64 << 10

// Carry passes msgs to the function send, in order and up to the first message that cannot have a
// receipt; send returns the ids of the messages that it has sent. Carry returns the ids of the
// messages whose receipts came. If send has sent no message and returns no error, Carry rings bell.
func (r Receipt) Carry(ctx context.Context, msgs []mail.Message, send func([]mail.Message) (ids []string, err error), bell wake.Doorbell) (had []string, err error) {
	mark, err := r.Box.Archive().Mark(ctx)
	if err != nil {
		return nil, err
	}
	size := 0
	end := slices.IndexFunc(msgs, func(m mail.Message) bool {
		size += len(m.Envelope()) + 1
		// Stop at a message that cannot have a receipt: an ephemeral message is not archived, and
		// if two messages have one id, the record of one of them proves nothing about the other.
		return m.Ephemeral || m.Handle() != m.ID || size > maxCarry
	})
	if end < 0 {
		end = len(msgs)
	}
	ids, err := send(msgs[:end])
	switch {
	case len(ids) > 0:
		return r.await(ctx, mark, ids)
	case err == nil:
		err = bell.Ring(ctx, wake.NoticeOf(msgs)) // a hook hands over the first message
	}
	return nil, err
}

// await waits until a hook has archived messages, and returns their ids. The argument mark is the
// end of the archive before the messages were sent. If no message was archived in time, the error
// is wake.ErrUncaptured.
func (r Receipt) await(ctx context.Context, mark inbox.Mark, ids []string) (had []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	changes := NewChanges()
	defer changes.Close()
	for late := true; late; late = late && ctx.Err() == nil && r.Busy != nil && r.Busy(ctx) {
		brief, stop := context.WithTimeout(ctx, receiptTime)
		err = changes.Until(brief, r.Box.Archive().LockPath(), func() (bool, error) {
			got, err := r.Box.Archive().IDsSince(mark)
			had = had[:0]
			for _, id := range ids {
				if got[id] {
					had = append(had, id)
				}
			}
			return len(had) == len(ids), err
		})
		late = brief.Err() != nil
		stop()
		if len(had) > 0 {
			return had, nil
		}
		if late {
			err = fmt.Errorf("%w: no sign that it has the messages within %v", wake.ErrUncaptured, receiptTime)
		}
	}
	return nil, err
}
