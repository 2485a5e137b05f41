package inbox

import (
	"context"
	"math"
	"slices"

	"c2c/inbox/archive"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Find tells where the messages with this id are: none when the mailbox has never seen it, several when several
// senders chose it. Archived ones are looked for, newest first, until one is found whose id nobody chose.
func (r *row) Find(ctx context.Context, id string) ([]Found, error) {
	return r.findLocked(ctx, func(st Found) bool { return !st.Message.HasChosenID() }, id)
}

// FindAll is Find for ids that a sender has chosen.
func (r *row) FindAll(ctx context.Context, ids ...string) ([]Found, error) {
	return r.findLocked(ctx, nil, ids...)
}

func (r *row) findLocked(ctx context.Context, enough func(Found) bool, ids ...string) ([]Found, error) {
	r.archive.Index(ctx)
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	set := map[string]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return r.find(set, enough)
}

// find gives the states of all messages with these ids. It begins with the file that most likely has one, and reads no further
// file once it has found a state that is enough; with nil it reads all. It looks at the waiting mail before the archive, so it
// may find a message twice that is archived meanwhile: such a message is read. The caller holds the lock.
func (r *row) find(ids map[string]bool, enough func(Found) bool) (found []Found, err error) {
	var waiting, read []Found
	suffices := func(some []Found) bool { return enough != nil && slices.ContainsFunc(some, enough) }
	holds := mail.HoldsID(ids)
	see := func(mf *mailFile) (more bool) {
		mf.each(func(f Found) {
			if ids[f.Message.ID] {
				waiting = append(waiting, f)
			}
		})
		return !suffices(waiting)
	}
	inbox, err := r.peekInbox(holds)
	if err != nil {
		return nil, err
	}
	if see(inbox) {
		err = r.inLease(func(dir *atomicfile.Dir) error {
			files, err := mailFiles(dir)
			if err != nil {
				return err
			}
			some, rest := likely(files, ids)
			more, err := r.peekEach(some, holds, see)
			if more && enough != nil && len(rest) > 0 { // the archive has an index, which tells sooner
				read, err = r.findArchived(ids, enough)
				more = !suffices(read)
			}
			if more && err == nil {
				_, err = r.peekEach(rest, holds, see)
			}
			return err
		})
	}
	if err == nil && !suffices(read) {
		read, err = r.findArchived(ids, enough)
	}
	return append(withoutRead(waiting, read), read...), err
}

// findArchived looks into the newest file of the archive first, and stops after one in which it has found enough.
func (r *row) findArchived(ids map[string]bool, enough func(Found) bool) (found []Found, err error) {
	more := func() bool { return enough == nil || !slices.ContainsFunc(found, enough) }
	err = r.archive.WithIDs(ids, more, func(r archive.Record) {
		if ids[r.ID] {
			found = append(found, foundRead(r))
		}
	})
	return found, err
}

// Peek returns the waiting messages, oldest first, and changes nothing. A message
// that a live reader has leased does not wait.
func (m *Mailbox) Peek(ctx context.Context) ([]mail.Message, error) {
	return m.Head(ctx, math.MaxInt64)
}

// Head is Peek for the oldest messages: it reads no further file once it has enough bytes.
func (m *Mailbox) Head(ctx context.Context, enough int64) ([]mail.Message, error) {
	return m.head(ctx, enough, false)
}

// PeekAll is Peek with what is not handed over now: it has expired, or its time has not come, or it is held.
func (m *Mailbox) PeekAll(ctx context.Context) ([]mail.Message, error) {
	return m.head(ctx, math.MaxInt64, true)
}

func (m *Mailbox) head(ctx context.Context, enough int64, hidden bool) ([]mail.Message, error) {
	if some, err := m.Waiting(); err != nil || !some {
		return nil, err
	}
	lk, err := m.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	var msgs []mail.Message
	size := int64(0)
	seen := map[mail.Key]bool{} // what a crash left in two places is offered once
	err = m.oldestFirst(nil, func(mf *mailFile) (more bool) {
		for _, msg := range mf.msgs {
			if k := msg.Key(); mf.free && !mf.done && (hidden || !m.hides(msg)) && (!seen[k] || msg.HasLegacyID()) {
				seen[k] = true
				msgs = append(msgs, msg)
				size += int64(len(msg.Content))
			}
		}
		return size < enough
	})
	return msgs, err
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

// Damaged says whether something that waits cannot be read. It changes nothing: the next reader hands over the rest, and
// puts the file aside.
func (r *row) Damaged(ctx context.Context) (bool, error) {
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return false, err
	}
	defer lk.Release()
	damaged := false
	err = r.oldestFirst(func(file []byte) (wanted bool) {
		_, damage := decode(file)
		damaged = damaged || damage
		return false
	}, func(*mailFile) (more bool) { return !damaged })
	return damaged, err
}
