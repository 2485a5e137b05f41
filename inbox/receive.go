package inbox

import (
	"context"
	"errors"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Receive archives messages that match: the client was seen to have them. It looks at those
// that live readers with these names have leased. Such a reader carries messages to the
// client and cannot see whether they arrive. Its own ack archives nothing twice.
func (m *Mailbox) Receive(ctx context.Context, match func(mail.Message) bool, by ...string) error {
	if some, err := m.Used(); err != nil || !some {
		return err
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	held := map[*mailFile][]mail.Message{}
	err = m.inLease(func(dir *atomicfile.Dir) error {
		return m.eachLeased(dir, nil, always, func(msg mail.Message, holder *mailFile) {
			if holder != nil && !holder.done && slices.Contains(by, holder.by) && match(msg) {
				held[holder] = append(held[holder], msg)
			}
		})
	})
	for mf, msgs := range held {
		err = errors.Join(err, m.archive.Append(ctx, mf.by, msgs, mf.archived))
	}
	return err
}

// Held gives the messages that live readers with these names have in their hands.
func (m *Mailbox) Held(ctx context.Context, by ...string) (msgs []mail.Message, err error) {
	lk, err := m.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	err = m.inLease(func(dir *atomicfile.Dir) error {
		return m.eachLeased(dir, nil, always, func(msg mail.Message, holder *mailFile) {
			if holder != nil && !holder.done && slices.Contains(by, holder.by) {
				msgs = append(msgs, msg)
			}
		})
	})
	return msgs, err
}
