package inbox

import (
	"context"
	"errors"
	"slices"

	"c2c/inbox/mail"
)

// Receive archives the messages for which the function match returns true. Call it when c2c has
// seen that the client has these messages. Receive considers only messages that live readers with
// these names have leased. Such a reader carries messages to the client and cannot see whether they
// arrive. The reader's own ack then does not archive them again.
func (m *Mailbox) Receive(ctx context.Context, match func(mail.Message) bool, by ...string) error {
	if some, err := m.Used(); err != nil || !some {
		return err
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	files, err := m.leasedBy(by)
	for _, mf := range files {
		msgs := slices.DeleteFunc(mf.msgs, func(msg mail.Message) bool { return !match(msg) })
		err = errors.Join(err, m.archive.Append(ctx, mf.by, msgs, mf.archived))
	}
	return err
}

// Held returns the messages that live readers with these names have leased.
func (m *Mailbox) Held(ctx context.Context, by ...string) (msgs []mail.Message, err error) {
	lk, err := m.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	files, err := m.leasedBy(by)
	for _, mf := range files {
		msgs = append(msgs, mf.msgs...)
	}
	return msgs, err
}

// leasedBy returns the files that live readers with these names have leased, and their messages.
// The caller holds the lock.
func (m *Mailbox) leasedBy(readers []string) (files []*mailFile, err error) {
	for mf, err := range m.numbered {
		if err == nil && !mf.done && slices.Contains(readers, mf.by) {
			if err = m.peek(mf, nil, nil); err == nil && !mf.free {
				files = append(files, mf)
			}
		}
		if err != nil {
			return files, err
		}
	}
	return files, nil
}
