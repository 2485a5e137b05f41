package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// ackTime is how long an acknowledgement may wait for a lock.
const ackTime = 10 * time.Second

// Ack records that the caller has handed over the messages with these handles, and archives them.
// All other messages of the lease wait again, in their old order. If the archive cannot be written,
// Ack records in the names of the files which messages were read, and a later Lease archives them.
// After an error no message is lost, but a message that Ack could not record may be handed over
// again. Ack ends the lease. It also works after ctx has ended, because the caller cannot take back
// what it has handed over.
func (l *Lease) Ack(ctx context.Context, handles ...string) error {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer end()
	return l.AckAndRemove(ctx, handles, nil)
}

// Remove is Ack for messages that the caller has stored elsewhere, unread. It writes no record into
// the archive: because of such a record, Deliver would not store the messages again when they come
// back.
func (l *Lease) Remove(ctx context.Context, handles ...string) error {
	return l.AckAndRemove(ctx, nil, handles)
}

// Handles returns the handles of messages.
func Handles(msgs []mail.Message) (handles []string) {
	for _, msg := range msgs {
		handles = append(handles, msg.Handle())
	}
	return handles
}

// AckAndRemove is Ack for the messages with the handles in handed, and Remove for those with the
// handles in removed, in one step.
func (l *Lease) AckAndRemove(ctx context.Context, handed, removed []string) error {
	read, gone := setOf(handed), setOf(removed)
	settled := func(msg mail.Message) bool { return read[msg.Handle()] || gone[msg.Handle()] }
	acked, others := make([]mail.Message, 0, len(handed)), 0
	for _, msg := range l.Messages {
		if read[msg.Handle()] {
			acked = append(acked, msg)
		} else if gone[msg.Handle()] {
			others++
		}
	}
	if len(acked)+others == 0 {
		return l.Release()
	}
	var err error
	if len(acked) > 0 {
		if err = l.archivePending(ctx); err == nil {
			err = l.box.archive.AppendLeased(ctx, l.files[0].by, acked, l.since())
		}
	}
	all := len(acked)+others == l.count()
	return errors.Join(l.settle(ctx, settled, read, all, err), l.close())
}

// setOf makes a set, because a mailbox may have 20,000 messages.
func setOf(handles []string) map[string]bool {
	set := make(map[string]bool, len(handles))
	for _, h := range handles {
		set[h] = true
	}
	return set
}

// settle removes the messages for which the function settled returns true from their files. The
// argument notArchived is the error of archiving the read messages, or nil. If it is not nil, or if
// the files cannot be changed, settle records the read messages in the names of the files, which
// needs no disk space.
func (l *Lease) settle(ctx context.Context, settled func(mail.Message) bool, read map[string]bool, all bool, notArchived error) error {
	if !all { // we rename files below, so no other process may look for them now
		lk, err := l.box.lock(ctx)
		if err != nil {
			return errors.Join(notArchived, err)
		}
		defer lk.Release()
	}
	err := notArchived
	if err == nil {
		if err = l.drop(ctx, settled); err == nil || len(read) == 0 || errors.As(err, new(*atomicfile.SyncError)) {
			return err
		}
	}
	if merr := l.markRead(func(msg mail.Message) bool { return read[msg.Handle()] }); merr != nil {
		return errors.Join(err, merr)
	}
	l.box.notArchived(err)
	return nil
}

// drop removes the messages for which the function handed returns true from the files, and syncs.
func (l *Lease) drop(ctx context.Context, handed func(mail.Message) bool) error {
	for _, mf := range l.files {
		if err := l.box.keepRest(ctx, mf, handed); err != nil {
			return err
		}
	}
	return errors.Join(l.dir.Sync(), l.box.root.Sync())
}

// The method since returns a place in the archive. The archive can have records of the leased
// messages only after this place.
func (l *Lease) since() int64 {
	return slices.MinFunc(l.files, func(a, b *mailFile) int { return cmp.Compare(a.archived, b.archived) }).archived
}

// archivePending archives the messages that the files' names record as read. Ack calls it before it
// archives its own messages, because the archive keeps the order of reading.
func (l *Lease) archivePending(ctx context.Context) error {
	for _, mf := range l.files {
		if err := l.box.archive.Append(ctx, mf.by, mf.pending, mf.archived); err != nil {
			return err
		}
		mf.pending = nil
	}
	return nil
}

var errNotMarked = errors.New("some of the mail was not marked as read, and is handed over again: other mail in its file waits before it")

// markRead records in the names of the files which messages were handed over: those for which the
// function handed returns true. A name has room only for the messages before the first one that
// waits. markRead skips files that were rewritten or removed. If some messages of a file still
// wait, the caller must hold the lock of the mailbox.
func (l *Lease) markRead(handed func(mail.Message) bool) error {
	var again error
	for _, mf := range l.files {
		rest := slices.DeleteFunc(slices.Clone(mf.msgs), handed)
		if same, err := l.dir.IsFile(mf.name(), mf.file); err != nil {
			return err
		} else if !same || len(rest) == len(mf.msgs) {
			continue
		}
		err := mf.rename(func(next *mailFile) {
			next.done, next.acked = len(rest) == 0, 0
			if !next.done {
				next.acked = rest[0].Position
				next.count = mf.total - next.acked
			}
		})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(mf.msgs, func(msg mail.Message) bool { return handed(msg) && !mf.done && msg.Position > mf.acked }) {
			again = errNotMarked
		}
	}
	return errors.Join(again, l.dir.Sync())
}
