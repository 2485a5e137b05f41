package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Deliver stores messages in one commit and returns them as stored, with ids
// and times. When it returns nil they survive a power cut; on an error none of
// them is stored, except that a time-out may come just when another sender, who
// stores them too, is stopped. A message whose id the caller chose is not
// stored again when the mailbox or its archive has it already.
func (m *Mailbox) Deliver(ctx context.Context, msgs ...Message) ([]Message, error) {
	d, err := m.draft(msgs)
	if err != nil {
		return nil, err
	}
	lk, err := filelock.Open(m.root, m.LockName())
	if err != nil {
		return nil, err
	}
	held, err := lk.Try()
	if err == nil && !held {
		var stored bool
		if lk, stored, err = m.queue(ctx, lk, d); stored {
			return d.msgs, nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, lk.Release())
	}
	defer lk.Release()
	if err := m.commit(d); err != nil {
		return nil, err
	}
	return d.msgs, nil
}

// draft is what one call of Deliver is to store.
type draft struct {
	msgs []Message
	once []bool // look first whether this one is there already
}

func (m *Mailbox) draft(msgs []Message) (*draft, error) {
	d := &draft{slices.Clone(msgs), make([]bool, len(msgs))}
	now := m.now()
	for i := range d.msgs {
		msg := &d.msgs[i]
		if err := msg.check(m.limits); err != nil {
			return nil, err
		}
		if d.once[i] = msg.ID != ""; !d.once[i] {
			msg.ID = NewID(now)
		}
		if msg.TS == 0 {
			msg.TS = seconds(now)
		}
	}
	return d, nil
}

// look is for a draft that somebody has claimed: what is not surely refused may
// be stored.
func (d *draft) look(sign byte) {
	for i := range d.once {
		d.once[i] = d.once[i] || sign != signRefused
	}
}

// fresh returns what is not there yet; the others become what was stored.
func (m *Mailbox) fresh(d *draft) (fresh []Message, err error) {
	for i, msg := range d.msgs {
		if d.once[i] {
			st, err := m.find(msg.ID)
			if err != nil {
				return nil, err
			}
			if st.Where != "" {
				d.msgs[i] = st.Message
				continue
			}
		}
		fresh = append(fresh, msg)
	}
	return fresh, nil
}

// commit stores a draft, and with it what other senders have queued. The caller
// holds the lock.
func (m *Mailbox) commit(d *draft) error {
	fresh, err := m.fresh(d)
	if err != nil || len(fresh) == 0 {
		return err
	}
	// A consumer must be able to lease on a full disk, so its directory is made now.
	lease, err := m.root.Sub(m.leaseName(), true)
	if err != nil {
		return err
	}
	defer lease.Close()
	names, err := lease.Names()
	if err != nil {
		return err
	}
	others := m.claim(lease, names, fresh)
	err = m.store(lease, names, slices.Concat(fresh, others.msgs))
	switch {
	case err == nil:
		others.sign(signStored)
	case errors.Is(err, ErrFull) && len(others.msgs) > 0: // nothing was written: each asks for itself
		others.sign(signRefused)
		err = m.store(lease, names, fresh)
	default:
		others.sign(signUnknown)
	}
	if err == nil {
		m.notify()
	}
	return err
}

// store commits messages; the caller holds the lock. names are those of the lease directory.
func (m *Mailbox) store(lease *atomicfile.Dir, names []string, msgs []Message) error {
	ahead := chunk{}
	for _, c := range chunksOf(names) {
		ahead.number = max(ahead.number, c.number)
		if !c.done {
			ahead.count += c.count
			ahead.bytes += c.bytes
		}
	}
	file, err := readIf(m.root, m.inboxName())
	if err != nil {
		return err
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
		if err := m.rotate(lease, chunk{number: ahead.number, count: waiting, bytes: int64(len(file))}); err != nil {
			return err
		}
	}
	if next := encode(msgs); len(next) <= maxInbox {
		return m.root.Replace(m.inboxName(), next)
	}
	return m.storeNumbered(lease, ahead.number+1, msgs)
}

// rotate moves the inbox into the lease directory, as a reader does, and leaves it to nobody. The new name
// is synced before the loss of the old one.
func (m *Mailbox) rotate(lease *atomicfile.Dir, as chunk) error {
	if err := m.root.Move(m.inboxName(), lease, as.name()); err != nil {
		return err
	}
	return errors.Join(lease.Sync(), m.root.Sync())
}

// storeNumbered writes files of their own, from a number on. When one cannot be written none stays.
func (m *Mailbox) storeNumbered(lease *atomicfile.Dir, number int, msgs []Message) error {
	var written []string
	for count, file := range parts(msgs) {
		c := chunk{number: number + len(written), count: count, bytes: int64(len(file))}
		if err := lease.Replace(c.name(), file); err != nil {
			for _, name := range slices.Backward(append(written, c.name())) {
				lease.Remove(name) // the last one may be there: only its directory's sync failed
			}
			return err
		}
		written = append(written, c.name())
	}
	return nil
}

// repair keeps a copy of a damaged inbox, leaves what is readable there, and returns it and the number of
// messages in it.
func (m *Mailbox) repair(file []byte) ([]byte, int, error) {
	msgs, damaged := decode(file)
	if damaged {
		if _, err := m.setAside(file); err != nil {
			return nil, 0, err
		}
	}
	file = encode(msgs)
	return file, len(msgs), m.root.Replace(m.inboxName(), file)
}

func (m *Mailbox) room(messages int, bytes int64) error {
	if messages > m.limits.Messages || bytes > m.limits.Bytes {
		return fmt.Errorf("%w: session %s has %d messages (%d bytes) with this one, at most %d (%d bytes); it must read its mail first",
			ErrFull, m.sid, messages, bytes, m.limits.Messages, m.limits.Bytes)
	}
	return nil
}
