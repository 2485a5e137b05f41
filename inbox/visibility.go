package inbox

import (
	"context"
	"errors"
	"io/fs"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Ready reports whether mail waits that can be handed over now. Unlike Waiting it reads the mail,
// but usually only the first message.
func (m *Mailbox) Ready(ctx context.Context) (bool, error) {
	if m.firstIsReady() {
		return true, nil
	}
	msgs, err := m.Head(ctx, 1)
	return len(msgs) > 0, err
}

// firstIsReady reports whether the oldest message is in a file that no reader ever took, and can be
// handed over now. It takes no lock. If a reader takes the file meanwhile, the answer was right a
// moment ago, and an answer under the lock would be no better.
func (m *Mailbox) firstIsReady() bool {
	for mf, err := range m.numbered {
		if err != nil || mf.by != "" || mf.done {
			return false // Ready then calls Head, which reports the error
		}
		first, err := mf.first()
		return err == nil && !m.hides(first)
	}
	return false
}

// Withdraw removes messages that the caller has stored elsewhere. It archives nothing. Messages
// that a live reader has leased, or has handed over meanwhile, stay.
func (m *Mailbox) Withdraw(ctx context.Context, msgs ...mail.Message) error {
	gone := map[mail.Key]bool{}
	for _, msg := range msgs {
		gone[msg.Key()] = true
	}
	l, err := m.LeaseOnly(ctx, ByMover, func(msg mail.Message) bool { return gone[msg.Key()] })
	if err != nil {
		return err
	}
	return l.Remove(ctx, Handles(l.Messages)...)
}

// NotifyWatchers makes watchers of the mailbox check it again. Call it when a message in the
// mailbox becomes ready, see Ready.
func (m *Mailbox) NotifyWatchers(ctx context.Context) error {
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	err = m.root.Touch(m.inboxName(), m.now())
	if errors.Is(err, fs.ErrNotExist) { // the mail is in a numbered file
		err = m.inLease(func(dir *atomicfile.Dir) error { return m.root.Touch(m.LeaseName(), m.now()) })
	}
	m.notify()
	return err
}
