package inbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	if stored, err := m.turn.take(ctx, d); stored || err != nil {
		return d.msgs, err
	}
	defer m.turn.pass()
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
	msgs   []Message
	once   []bool    // look first whether this one is there already
	signed chan byte // what became of it, when another goroutine has claimed it
}

func (m *Mailbox) draft(msgs []Message) (*draft, error) {
	d := &draft{slices.Clone(msgs), make([]bool, len(msgs)), make(chan byte, 1)}
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
		m.stir()
	}
	return err
}

// store commits messages; the caller holds the lock. names are those of the lease directory.
func (m *Mailbox) store(lease *atomicfile.Dir, names []string, msgs []Message) error {
	held, heldBytes := leased(lease, names)
	spilled, err := m.size(m.spillName())
	if err != nil {
		return err
	}
	if spilled > 0 {
		return m.spill(msgs, held, heldBytes+maxInbox+spilled, spilled)
	}
	file, err := readIf(m.root, m.inboxName())
	if err != nil {
		return err
	}
	waiting, ok := count(file)
	if !ok {
		if file, waiting, err = m.mend(file); err != nil {
			return err
		}
	}
	next := splice(file, msgs)
	if err := m.room(held+waiting+len(msgs), heldBytes+int64(len(next))); err != nil {
		return err
	}
	if len(next) <= maxInbox {
		return m.root.Replace(m.inboxName(), next)
	}
	return m.spill(msgs, held+waiting, heldBytes+int64(len(file)), 0)
}

// mend keeps a copy of a damaged inbox and returns one of its readable messages, and their number.
func (m *Mailbox) mend(file []byte) ([]byte, int, error) {
	msgs, damaged := decode(file)
	if damaged {
		if _, err := m.setAside(m.inboxName(), file); err != nil {
			return nil, 0, err
		}
	}
	return encode(msgs), len(msgs), nil
}

func (m *Mailbox) room(messages int, bytes int64) error {
	if messages > m.limits.Messages || bytes > m.limits.Bytes {
		return fmt.Errorf("%w: session %s has %d messages (%d bytes) with this one, at most %d (%d bytes); it must read its mail first",
			ErrFull, m.sid, messages, bytes, m.limits.Messages, m.limits.Bytes)
	}
	return nil
}

// spill appends behind the inbox. before counts what waits ahead when there is
// no spill yet, and what is leased when there is one.
func (m *Mailbox) spill(msgs []Message, before int, bytes, size int64) error {
	n := before
	if size > 0 {
		last, err := m.spillEnd(size)
		if err != nil {
			return err
		}
		n = max(last, before)
	}
	var lines []byte
	for i, msg := range msgs {
		lines = spillLine(lines, msg, n+i+1)
	}
	if err := m.room(n+len(msgs), bytes+int64(len(lines))); err != nil {
		return err
	}
	return m.root.Append(m.spillName(), lines)
}

// spillEnd reads the last count, and first mends a spill whose end a crash tore.
func (m *Mailbox) spillEnd(size int64) (int, error) {
	f, err := m.root.Open(m.spillName(), os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	tail := make([]byte, min(size, 64))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, fmt.Errorf("read %q: %w", m.spillName(), err)
	}
	if n, err := spillCount(tail); err == nil {
		return n, nil
	}
	file, err := m.root.Read(m.spillName())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if _, err := m.setAside(m.spillName(), file); err != nil {
		return 0, err
	}
	msgs, _ := decodeSpill(file)
	var lines []byte
	for i, msg := range msgs {
		lines = spillLine(lines, msg, i+1)
	}
	return len(msgs), m.root.Replace(m.spillName(), lines)
}
