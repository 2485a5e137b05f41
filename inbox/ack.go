package inbox

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Ack says that the messages with these handles were handed over: they go to the
// archive, and the others wait again, where they were. When the archive has no room
// for all messages of the lease, their ack is recorded all the same, and a later Lease
// archives them. On an error nothing is lost; what could not be recorded may be handed
// over again. The lease ends.
func (l *Lease) Ack(ctx context.Context, handles ...string) error {
	return l.ack(ctx, handles, nil)
}

// AckAndRemove is Ack for some messages and Remove for others, at once.
func (l *Lease) AckAndRemove(ctx context.Context, read, removed []string) error {
	return l.ack(ctx, read, removed)
}

// Remove is Ack for messages that nobody has read here, and that the caller has
// put elsewhere: the archive gets no record, which would refuse them when they
// come back.
func (l *Lease) Remove(ctx context.Context, handles ...string) error {
	return l.ack(ctx, nil, handles)
}

// Handles gives the handles of messages.
func Handles(msgs []mail.Message) (handles []string) {
	for _, msg := range msgs {
		handles = append(handles, msg.Handle())
	}
	return handles
}

func (l *Lease) ack(ctx context.Context, handles, removed []string) error {
	read, gone := setOf(handles), setOf(removed)
	settled := func(msg mail.Message) bool { return read[msg.Handle()] || gone[msg.Handle()] }
	acked, others := make([]mail.Message, 0, len(handles)), 0
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
			err = l.box.archive.Append(ctx, l.files[0].by, acked, l.since())
		}
	}
	all := len(acked)+others == l.count()
	return errors.Join(l.settle(ctx, settled, read, all, err), l.close())
}

// setOf makes a set of handles: a mailbox may have 20,000 messages.
func setOf(handles []string) map[string]bool {
	set := make(map[string]bool, len(handles))
	for _, h := range handles {
		set[h] = true
	}
	return set
}

// settle removes the messages that were handed over, or put elsewhere, from the files. When that fails, or notArchived says why the
// archive could not take those that were read, the names of the files record these: that needs no space.
func (l *Lease) settle(ctx context.Context, settled func(mail.Message) bool, read map[string]bool, all bool, notArchived error) error {
	if !all { // a file gets another name: nobody may look for the old one meanwhile
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

// drop takes what was handed over out of the files.
func (l *Lease) drop(ctx context.Context, handed func(mail.Message) bool) error {
	for _, mf := range l.files {
		if err := l.box.keepRest(ctx, mf, handed); err != nil {
			return err
		}
	}
	return errors.Join(l.dir.Sync(), l.box.root.Sync())
}

// since is the place in the archive behind which the leased messages may be recorded already.
func (l *Lease) since() int64 {
	return slices.MinFunc(l.files, func(a, b *mailFile) int { return cmp.Compare(a.archived, b.archived) }).archived
}

// archivePending archives what was read of the files before: the archive has it in the order of reading.
func (l *Lease) archivePending(ctx context.Context) error {
	for _, mf := range l.files {
		if err := l.box.archive.Append(ctx, mf.by, mf.pending, mf.archived); err != nil {
			return err
		}
		mf.pending = nil
	}
	return nil
}

var errLongName = errors.New("some of the mail was not marked as read, and is handed over again: the name of its file has no more room")

// markRead records in the files' names which messages were handed over. Files that were written anew, or removed, are passed
// over. If some messages of a file still wait, the caller must hold the lock of the mailbox.
func (l *Lease) markRead(handed func(mail.Message) bool) error {
	short := false
	for _, mf := range l.files {
		rest := slices.DeleteFunc(slices.Clone(mf.msgs), handed)
		if is, err := l.dir.IsFile(mf.name(), mf.file); err != nil {
			return err
		} else if !is || len(rest) == len(mf.msgs) {
			continue
		}
		waits := map[int]bool{}
		for _, msg := range rest {
			waits[msg.Position] = true
		}
		err := mf.rename(func(next *mailFile) {
			next.done, next.acked = len(rest) == 0, nil
			if !next.done {
				next.acked = positionsWhere(mf.total, func(i int) bool { return !waits[i] })
				short = next.shorten() || short
				next.count = mf.total - next.acked.count()
			}
		})
		if err != nil {
			return err
		}
	}
	if short {
		return errors.Join(errLongName, l.dir.Sync())
	}
	return l.dir.Sync()
}
