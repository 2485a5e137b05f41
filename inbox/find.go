package inbox

import (
	"context"
	"math"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Find returns the states of the messages with this id: none if the mailbox never had the id,
// several if several senders chose it. Find stops at a message whose id c2c made, because no other
// message has that id.
func (r *row) Find(ctx context.Context, id string) ([]Found, error) {
	return r.findLocked(ctx, func(st Found) bool { return !st.Message.HasChosenID() }, id)
}

// FindAll returns the states of all messages with these ids. It does not stop early, because
// several senders may have chosen the same id.
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

// find returns the states of all messages with these ids. It begins with the files that most likely
// have one of these messages. After a file with a state for which the function enough returns true,
// it reads no more of these files; if enough is nil, it reads them all. It also searches the
// archive: if enough is set, before the less likely files, and in any case at the end, unless that
// search was enough. For a reader may archive a message meanwhile, or may be killed before it has
// removed the message from its file. A message that is in a file and in the archive counts as read.
// The caller holds the lock.
func (r *row) find(ids map[string]bool, enough func(Found) bool) (found []Found, err error) {
	var waiting, read []Found
	suffices := func(some []Found) bool { return enough != nil && slices.ContainsFunc(some, enough) }
	holds := mail.HoldsID(ids, nil)
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
			if more && enough != nil && len(rest) > 0 { // search the archive before rest, because its index makes that search faster
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
	return join(waiting, read), err
}

// findArchived is find for the archive, newest file first. It stops after a file with a state that
// enough accepts.
func (r *row) findArchived(ids map[string]bool, enough func(Found) bool) (found []Found, err error) {
	more := func() bool { return enough == nil || !slices.ContainsFunc(found, enough) }
	err = r.archive.WithIDs(ids, more, func(r ArchiveRecord) {
		if ids[r.ID] {
			found = append(found, r.Found())
		}
	})
	return found, err
}

// Peek returns the waiting messages, oldest first, and changes nothing. A message that a live
// reader has leased does not wait.
func (m *Mailbox) Peek(ctx context.Context) ([]mail.Message, error) {
	return m.Head(ctx, math.MaxInt64)
}

// Head is Peek for the oldest messages. It reads no further file when the bodies have reached this
// size, in bytes.
func (m *Mailbox) Head(ctx context.Context, size int64) ([]mail.Message, error) {
	return m.head(ctx, size, false)
}

// PeekAll is Peek that also returns messages that are not offered now: those that have expired,
// those whose time has not come, and those that are held.
func (m *Mailbox) PeekAll(ctx context.Context) ([]mail.Message, error) {
	return m.head(ctx, math.MaxInt64, true)
}

// HeadAll is PeekAll for the oldest messages. It stops at this size, as Head and LeaseAll do.
func HeadAll(ctx context.Context, m *Mailbox, size int64) ([]mail.Message, error) {
	return m.head(ctx, size, true)
}

func (m *Mailbox) head(ctx context.Context, size int64, hidden bool) ([]mail.Message, error) {
	if some, err := m.Waiting(); err != nil || !some {
		return nil, err
	}
	lk, err := m.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	var msgs []mail.Message
	got := int64(0)
	seen := map[mail.Key]bool{} // a crash may leave a message in two files
	err = m.oldestFirst(nil, func(mf *mailFile) (more bool) {
		for _, msg := range mf.msgs {
			if k := msg.Key(); mf.free && !mf.done && (hidden || !m.hides(msg)) && (!seen[k] || msg.HasLegacyID()) {
				seen[k] = true
				msgs = append(msgs, msg)
				got += int64(len(msg.Content))
			}
		}
		return got < size
	})
	return msgs, err
}

// withIDs returns all messages with these ids, by id; it returns archived messages, too. If staying
// is set, it leaves out messages that a mover has leased. The caller holds the lock.
func (r *row) withIDs(ids map[string]bool, staying bool) (map[string][]mail.Message, error) {
	there := map[string][]mail.Message{}
	if len(ids) == 0 {
		return there, nil
	}
	states, err := r.find(ids, nil)
	for _, st := range states {
		if staying && st.Where == Leased && st.By == ByMover {
			continue
		}
		there[st.Message.ID] = append(there[st.Message.ID], st.Message)
	}
	return there, err
}

// Damaged reports whether some waiting mail is unreadable. It changes nothing. The next reader will
// hand over the readable part and set the file aside.
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
