package inbox

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"c2c/inbox/atomicfile"
)

// Receive archives messages that a client was seen to have, of those that live
// readers with these names have leased. Such a reader carries messages to the client
// and cannot see whether they arrive. Its own ack archives nothing twice.
func (m *Mailbox) Receive(ctx context.Context, has func(Message) bool, by ...string) error {
	if some, err := m.Used(); err != nil || !some {
		return err
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	held := map[*mailFile][]Message{}
	err = m.inLease(func(dir *atomicfile.Dir) error {
		return m.eachLeased(dir, nil, always, func(msg Message, holder *mailFile) {
			if holder != nil && !holder.done && slices.Contains(by, holder.by) && has(msg) {
				held[holder] = append(held[holder], msg)
			}
		})
	})
	for mf, msgs := range held {
		err = errors.Join(err, m.archive(ctx, mf.by, msgs, mf.archived))
	}
	return err
}

// Held gives the messages that live readers with these names have in their hands.
func (m *Mailbox) Held(ctx context.Context, by ...string) (msgs []Message, err error) {
	lk, err := m.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	err = m.inLease(func(dir *atomicfile.Dir) error {
		return m.eachLeased(dir, nil, always, func(msg Message, holder *mailFile) {
			if holder != nil && !holder.done && slices.Contains(by, holder.by) {
				msgs = append(msgs, msg)
			}
		})
	})
	return msgs, err
}

// ArchiveLock is the path of the file whose closing tells that messages were archived.
func (m *Mailbox) ArchiveLock() string {
	return filepath.Join(m.root.Path(), archiveDir, m.archiveLockName())
}

// Mark is a place in the archive.
type Mark int64

// Mark gives the end of the archive, and makes sure that ArchiveLock is there
// to be watched.
func (m *Mailbox) Mark(ctx context.Context) (mark Mark, err error) {
	err = m.underArchiveLock(ctx, func(*atomicfile.Dir) error {
		size, err := m.archiveSize()
		mark = Mark(size)
		return err
	})
	return mark, err
}

// ArchivedSince gives the ids of the messages that were archived behind a mark.
func (m *Mailbox) ArchivedSince(mark Mark) (map[string]bool, error) {
	found, err := m.archivedSince(int64(mark))
	ids := map[string]bool{}
	for k := range found {
		ids[k.id] = true
	}
	return ids, err
}
