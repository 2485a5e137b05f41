package inbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Deliver stores messages in one commit. When it returns nil they survive a power cut. After an
// error none is stored, unless the error says that they may be stored: then a directory could not
// be synced, or ctx ended while another sender was storing them. An id that the caller chose
// belongs to the sender. If the same sender delivers the same content with this id again, it is not
// stored twice; for other content the error is an *IDTakenError.
func (m *Mailbox) Deliver(ctx context.Context, msgs ...mail.Message) (Stored, error) {
	return m.deliver(ctx, msgs, false, false)
}

// DeliverNew is Deliver for messages that the mailbox cannot have yet. So it does not search the
// mailbox for them first, even if their senders chose the ids.
func DeliverNew(ctx context.Context, m *Mailbox, msgs ...mail.Message) (Stored, error) {
	return m.deliver(ctx, msgs, false, true)
}

// IsBlocked reports whether an error of Deliver stays until a person acts: a foreign file has the
// name of one of the mailbox's files, or c2c may not use the file.
func IsBlocked(err error) bool {
	return errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, atomicfile.ErrTooLarge) || errors.Is(err, fs.ErrPermission)
}

// Move is Deliver for messages from another mailbox. Their senders have been told that the messages
// are stored. If an earlier move was killed, this mailbox may already have a message with the same
// sender, id and content. Then Move does not store that message again. A different message with the
// same id is no error. If an ephemeral message was already read here, Move may store it again. A
// message that another mover has leased here does not count, because that mover will remove it.
func (m *Mailbox) Move(ctx context.Context, msgs ...mail.Message) (Stored, error) {
	return m.deliver(ctx, msgs, true, false)
}

func (m *Mailbox) deliver(ctx context.Context, msgs []mail.Message, moved, isNew bool) (Stored, error) {
	d, err := m.newDelivery(msgs, isNew)
	if err != nil {
		return Stored{}, err
	}
	d.moved = moved
	if slices.Contains(d.chosen, true) {
		m.archive.Index(ctx)
	}
	if moved { // if the loop guard has held some of them, the hold was for the old mailbox only
		for i := range d.Messages {
			d.Messages[i].Held, d.Messages[i].NotBefore = "", 0
		}
	}
	lk, err := atomicfile.OpenLocked(m.root, m.LockName())
	if err != nil {
		return Stored{}, err
	}
	held, err := lk.Try()
	stored := false
	if err == nil && !held {
		stored, err = m.queue(ctx, lk, d)
	}
	if err != nil {
		return Stored{}, errors.Join(err, lk.Release())
	}
	defer lk.Release()
	if !stored {
		err = m.commit(d)
	}
	if sync := new(atomicfile.SyncError); errors.As(err, &sync) {
		err = d.mayBeStored(err)
	}
	return d.Stored, err
}

// commit stores a delivery, and the messages that other senders have queued. The caller holds the
// lock.
func (m *Mailbox) commit(d *delivery) error {
	fresh, err := m.fresh(d)
	if err != nil {
		return err
	}
	// A reader must be able to lease on a full disk, so the lease directory is made now.
	lease, err := m.root.Sub(m.LeaseName(), true)
	if err != nil {
		return err
	}
	defer lease.Close()
	if len(fresh) < len(d.Messages) { // the other messages are stored already, but by a sender that may have been killed before its sync
		err = errors.Join(lease.Sync(), m.root.Sync())
	}
	if err != nil || len(fresh) == 0 {
		return err
	}
	names, err := lease.Names()
	if err != nil {
		return err
	}
	others := m.claim(lease, names, fresh)
	err = m.store(lease, names, slices.Concat(fresh, others.msgs))
	others.close(err == nil)
	if errors.Is(err, ErrFull) && len(others.msgs) > 0 { // nothing was written: now each sender tries alone
		err = m.store(lease, names, fresh)
	}
	if err == nil {
		m.notify()
	}
	return err
}

// store commits messages. The argument names has the names of the files in the lease directory. The
// caller holds the lock.
func (m *Mailbox) store(lease *atomicfile.Dir, names []string, msgs []mail.Message) error {
	ahead, numbered := mailFile{}, mailFilesOf(lease, names)
	for _, mf := range numbered {
		ahead.number = max(ahead.number, mf.number)
		if !mf.done {
			ahead.count += mf.count
			ahead.bytes += mf.bytes
		}
	}
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	if file == nil && len(numbered) > 0 { // a reader took the inbox, and may have been killed before its sync
		if err := lease.Sync(); err != nil {
			return err
		}
	}
	waiting, ok := count(file)
	if !ok {
		if file, waiting, err = m.repair(file); err != nil {
			return err
		}
	}
	next := splice(file, msgs)
	if n, bytes := ahead.count+waiting+len(msgs), ahead.bytes+int64(len(next)); n > m.most || bytes > mostBytes {
		return fmt.Errorf("%w: session %s has %d messages (%d bytes) with this one, at most %d (%d bytes); it must read its mail first",
			ErrFull, m.sid, n, bytes, m.most, mostBytes)
	}
	if len(next) <= maxInbox {
		return m.root.Replace(m.inboxName(), next)
	}
	if waiting > 0 {
		ahead.number++
		if err := m.rotate(lease, mailFile{number: ahead.number, count: waiting, bytes: int64(len(file))}); err != nil {
			return err
		}
	}
	if next = mail.Array(msgs); len(next) <= maxInbox {
		return m.root.Replace(m.inboxName(), next) // Replace syncs the root, too
	}
	if err := m.root.Sync(); err != nil {
		return err
	}
	name, err := mailFile{number: ahead.number + 1, count: len(msgs), bytes: int64(len(next))}.newName()
	if err != nil {
		return err
	}
	return lease.Replace(name, next)
}

// rotate moves the inbox into the lease directory, and then syncs that directory. The caller must
// hold the lock. Without the lock, another process could sync the root first. Then a power cut
// could lose both names of the file, because POSIX keeps no order between directories.
func (r *row) rotate(lease *atomicfile.Dir, numbered mailFile) error {
	name, err := numbered.newName()
	if err == nil {
		err = r.root.Move(r.inboxName(), lease, name)
	}
	if err == nil {
		err = lease.Sync()
	}
	return err
}

// repair sets a damaged inbox aside (setAside). It writes a new inbox with the messages that are
// still readable, and returns the content of the new inbox and the number of its messages.
func (r *row) repair(file []byte) ([]byte, int, error) {
	msgs, damaged := decode(file)
	if damaged {
		if err := r.setAside(r.root, r.inboxName()); err != nil {
			return nil, 0, err
		}
	}
	file = mail.Array(msgs)
	return file, len(msgs), r.root.Replace(r.inboxName(), file)
}
