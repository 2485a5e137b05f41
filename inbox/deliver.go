package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Deliver stores messages in one commit and returns them as stored, with ids
// and times. When it returns nil they survive a power cut; on an error none of
// them is stored. A message whose id the caller chose is not stored again when
// the mailbox or its archive has it already.
func (m *Mailbox) Deliver(ctx context.Context, msgs ...Message) ([]Message, error) {
	stored := make([]Message, len(msgs))
	chosen := make([]bool, len(msgs))
	now := m.now()
	for i, msg := range msgs {
		if err := msg.check(m.limits); err != nil {
			return nil, err
		}
		chosen[i] = msg.ID != ""
		if !chosen[i] {
			msg.ID = NewID(now)
		}
		if msg.TS == 0 {
			msg.TS = seconds(now)
		}
		stored[i] = msg
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	var fresh []Message
	for i, msg := range stored {
		if chosen[i] {
			st, err := m.find(msg.ID)
			if err != nil {
				return nil, err
			}
			if st.Where != "" {
				stored[i] = st.Message
				continue
			}
		}
		fresh = append(fresh, msg)
	}
	if len(fresh) == 0 {
		return stored, nil
	}
	if err := m.store(fresh); err != nil {
		return stored, err
	}
	m.stir()
	return stored, nil
}

// store commits messages; the caller holds the lock.
func (m *Mailbox) store(msgs []Message) error {
	// A consumer must be able to lease on a full disk, so its directory is made now.
	lease, err := m.root.Sub(m.leaseName(), true)
	if err != nil {
		return err
	}
	defer lease.Close()
	held, heldBytes, err := leased(lease)
	if err != nil {
		return err
	}
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
	if len(file) > 0 && !json.Valid(file) || !messagesOnly(file) {
		if file, err = m.mend(file); err != nil {
			return err
		}
	}
	next := splice(file, msgs)
	waiting, _ := decodeCount(file)
	if err := m.room(held+waiting+len(msgs), heldBytes+int64(len(next))); err != nil {
		return err
	}
	if len(next) <= maxInbox {
		return m.root.Replace(m.inboxName(), next)
	}
	return m.spill(msgs, held+waiting, heldBytes+int64(len(file)), 0)
}

// mend keeps a copy of a damaged inbox and returns one of its readable messages.
func (m *Mailbox) mend(file []byte) ([]byte, error) {
	msgs, damaged := decode(file)
	if damaged {
		if _, err := m.setAside(m.inboxName(), file); err != nil {
			return nil, err
		}
	}
	return encode(msgs), nil
}

// messagesOnly says whether a valid JSON file is an array, so that an element
// can be added to it.
func messagesOnly(file []byte) bool {
	_, ok := decodeCount(file)
	return ok
}

func decodeCount(file []byte) (int, bool) {
	if len(file) == 0 {
		return 0, true
	}
	var raws []json.RawMessage
	if json.Unmarshal(file, &raws) != nil {
		return 0, false
	}
	return len(raws), true
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
