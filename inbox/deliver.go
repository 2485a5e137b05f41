package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
)

// Stored is what Deliver has done.
type Stored struct {
	Messages []mail.Message // as they are stored, in the order given, with ids and times
	Already  []bool         // the mailbox or its archive had this one under its id, and nothing was added
}

// IDTakenError says that a sender has used an id before, for another message.
type IDTakenError struct{ ID, From string }

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("%s has sent another message with the id %q: choose a new id, or repeat that message word for word", e.From, e.ID)
}

// Deliver stores messages in one commit. When it returns nil they survive a power
// cut. On an error none of them is stored, unless the error says that they may be:
// a directory was not synced, or a time-out came when another sender, who stores
// them too, was stopped. An id that the caller chose belongs to its sender: the
// same content again is the same message and is not stored twice, other content is
// an *IDTakenError.
func (m *Mailbox) Deliver(ctx context.Context, msgs ...mail.Message) (Stored, error) {
	return m.deliver(ctx, msgs, false)
}

// ByMover is the reader's name of a process that moves mail out of a mailbox.
const ByMover = "broker"

// Move is Deliver for messages of another mailbox, whose senders were told that they are stored. Only a message
// of the same sender, id and content is there already, because a move was killed. Any other is stored
// beside those that have its id. What was ephemeral and read may come twice. What a mover has in its hands is not
// there: it takes that away, wherever it has put it.
func (m *Mailbox) Move(ctx context.Context, msgs ...mail.Message) (Stored, error) {
	return m.deliver(ctx, msgs, true)
}

func (m *Mailbox) deliver(ctx context.Context, msgs []mail.Message, moved bool) (Stored, error) {
	d, err := m.newDelivery(msgs)
	if err != nil {
		return Stored{}, err
	}
	d.moved = moved
	if slices.Contains(d.chosen, true) {
		m.archive.Index(ctx)
	}
	if moved { // the loop guard held them for another session
		for i := range d.Messages {
			d.Messages[i].Held, d.Messages[i].NotBefore = "", 0
		}
	}
	lk, err := filelock.Open(m.root, m.LockName())
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

// mayBeStored is for an error after which nobody knows. With its id a message is stored once, however often it is sent.
func (d *delivery) mayBeStored(err error) error {
	if d.moved {
		return err
	}
	return fmt.Errorf("%w; the message may be stored all the same: repeat it with the id %s", err, d.Messages[0].ID)
}

// delivery is what one call of Deliver is to store.
type delivery struct {
	Stored
	chosen      []bool // the caller chose the id
	maybeStored bool   // another sender may have stored it before it was killed
	moved       bool   // see Move
}

func (m *Mailbox) newDelivery(msgs []mail.Message) (*delivery, error) {
	d := &delivery{Stored: Stored{slices.Clone(msgs), make([]bool, len(msgs))}, chosen: make([]bool, len(msgs))}
	now := m.now()
	for i := range d.Messages {
		msg := &d.Messages[i]
		if err := msg.CheckWithin(m.limits.Body); err != nil {
			return nil, err
		}
		if d.chosen[i] = msg.ID != ""; !d.chosen[i] {
			msg.ID = mail.NewID(now)
		}
		if msg.TS == 0 {
			msg.TS = mail.Seconds(now)
		}
	}
	return d, nil
}

// fresh returns the messages that are not stored yet. In d.Messages the others are replaced by what was stored.
func (m *Mailbox) fresh(d *delivery) (fresh []mail.Message, err error) {
	ids := map[string]bool{}
	for i, msg := range d.Messages {
		if d.chosen[i] || d.maybeStored {
			ids[msg.ID] = true
		}
	}
	there, err := m.withIDs(ids, d.moved)
	if err != nil {
		return nil, err
	}
	for i, msg := range d.Messages {
		old, repeats, err := repeats(msg, there[msg.ID], d.moved)
		if err != nil {
			return nil, err
		}
		if d.Messages[i], d.Already[i] = old, repeats && !d.maybeStored; !repeats {
			fresh = append(fresh, msg)
		}
		if ids[msg.ID] {
			there[msg.ID] = append(there[msg.ID], msg)
		}
	}
	return fresh, nil
}

// withIDs gives all messages with these ids, archived ones too; with staying, none that a mover has in its hands. The caller
// holds the lock.
func (r *row) withIDs(ids map[string]bool, staying bool) (map[string][]mail.Message, error) {
	there := map[string][]mail.Message{}
	if len(ids) == 0 {
		return there, nil
	}
	states, err := r.find(ids, nil)
	for _, st := range states {
		if staying && st.Where == Handed && st.By == ByMover {
			continue
		}
		there[st.Message.ID] = append(there[st.Message.ID], st.Message)
	}
	return there, err
}

// repeats looks for m among messages with its id; it returns that one if it is there, else m. Of a moved
// message the id is as it is, and a record without content proves nothing.
func repeats(m mail.Message, there []mail.Message, moved bool) (_ mail.Message, repeats bool, err error) {
	for _, old := range there {
		switch {
		case !m.SameSender(old):
		case old.ContentDropped && !moved, old.Content == m.Content && !old.ContentDropped:
			return old, true, nil
		case !moved:
			err = &IDTakenError{m.ID, m.From}
		}
	}
	return m, false, err
}

// commit stores a delivery, and with it what other senders have queued. The caller
// holds the lock.
func (m *Mailbox) commit(d *delivery) error {
	fresh, err := m.fresh(d)
	if err != nil {
		return err
	}
	// A consumer must be able to lease on a full disk, so its directory is made now.
	lease, err := m.root.Sub(m.LeaseName(), true)
	if err != nil {
		return err
	}
	defer lease.Close()
	if len(fresh) < len(d.Messages) { // whoever stored the others may have been killed before its sync
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
	if errors.Is(err, ErrFull) && len(others.msgs) > 0 { // nothing was written: each asks for itself
		err = m.store(lease, names, fresh)
	}
	if err == nil {
		m.notify()
	}
	return err
}

// store commits messages; the caller holds the lock. names are those of the lease directory.
func (m *Mailbox) store(lease *atomicfile.Dir, names []string, msgs []mail.Message) error {
	ahead, numbered := mailFile{}, mailFilesOf(names)
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
	if err := m.room(ahead.count+waiting+len(msgs), ahead.bytes+int64(len(next))); err != nil {
		return err
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
	if next = encode(msgs); len(next) <= maxInbox {
		return m.root.Replace(m.inboxName(), next) // which syncs the root
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

// rotate moves the inbox into the lease directory. The new name is synced before anybody syncs the root, which
// has lost the old one: POSIX keeps no order between directories.
func (r *row) rotate(lease *atomicfile.Dir, as mailFile) error {
	name, err := as.newName()
	if err == nil {
		err = r.root.Move(r.inboxName(), lease, name)
	}
	if err == nil {
		err = lease.Sync()
	}
	return err
}

// repair sets a damaged inbox aside, leaves what is readable there, and returns it and the number of
// messages in it.
func (r *row) repair(file []byte) ([]byte, int, error) {
	msgs, damaged := decode(file)
	if damaged {
		if err := r.setAside(r.root, r.inboxName()); err != nil {
			return nil, 0, err
		}
	}
	file = encode(msgs)
	return file, len(msgs), r.root.Replace(r.inboxName(), file)
}

func (m *Mailbox) room(messages int, bytes int64) error {
	if messages > m.limits.Messages || bytes > m.limits.Bytes {
		return fmt.Errorf("%w: session %s has %d messages (%d bytes) with this one, at most %d (%d bytes); it must read its mail first",
			ErrFull, m.sid, messages, bytes, m.limits.Messages, m.limits.Bytes)
	}
	return nil
}

// notify tells those who watch the lock file that mail waits, or waits again: it
// changes the file's time. Claude Code watches a file for a session that has lost
// its server (FileChanged), and does not see that a file was closed. Of the files
// of a mailbox this is the one that stays. After one that its reader has renamed,
// version 2.1.329 looks through the whole root whenever anything there changes
// (10 ms of its time in a root of 300 sessions), or it has lost it.
func (r *row) notify() {
	if err := r.root.Touch(r.LockName(), r.now()); err != nil {
		r.log.Warn("new mail does not show in the lock file's time", "session", r.sid, "err", err)
	}
}
