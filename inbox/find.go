package inbox

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"time"

	"c2c/inbox/archive"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Where a message is.
const (
	Queued = "queued" // it waits
	Handed = "handed" // a live reader has it and has not acknowledged it
	Read   = "read"   // it was handed over in full and archived
)

// Found is what the disk proves about one message.
type Found struct {
	Where   string
	At      time.Time    // when it came there
	By      string       // the reader, when handed or read
	Message mail.Message // without its content when it was ephemeral and is read
}

// Find tells where the messages with this id are: none when the mailbox has never seen it, several when several
// senders chose it. Archived ones are looked for, newest first, until one is found whose id nobody chose.
func (r *row) Find(ctx context.Context, id string) ([]Found, error) {
	r.archive.Index(ctx)
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	return r.find(map[string]bool{id: true}, func(st Found) bool { return !st.Message.HasChosenID() })
}

// FindAll is Find for ids that a sender has chosen.
func (r *row) FindAll(ctx context.Context, ids ...string) ([]Found, error) {
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
	return r.find(set, nil)
}

// find gives the states of all messages with these ids. It begins with the file that most likely has one, and reads no further
// file once it has found a state that is enough; with nil it reads all. It looks at the waiting mail before the archive, so it
// may find a message twice that is archived meanwhile: such a message is read. The caller holds the lock.
func (r *row) find(ids map[string]bool, enough func(Found) bool) (found []Found, err error) {
	var waiting, read []Found
	suffices := func(some []Found) bool { return enough != nil && slices.ContainsFunc(some, enough) }
	more := func() bool { return !suffices(waiting) }
	holds := mail.HoldsID(ids)
	see := func(msg mail.Message, holder *mailFile) {
		if ids[msg.ID] {
			waiting = append(waiting, foundWaiting(msg, holder))
		}
	}
	if err := r.eachInInbox(holds, see); err != nil {
		return nil, err
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		if err != nil || !more() {
			return err
		}
		some, rest := likely(dir, files, ids)
		if err := r.eachOf(dir, some, holds, more, see); err != nil {
			return err
		}
		if more() && enough != nil && len(rest) > 0 { // the archive has an index, which tells sooner
			if read, err = r.findArchived(ids, enough); err != nil || suffices(read) {
				return err
			}
		}
		return r.eachOf(dir, rest, holds, more, see)
	})
	if err != nil || suffices(read) {
		return append(withoutRead(waiting, read), read...), err
	}
	read, err = r.findArchived(ids, enough)
	return append(withoutRead(waiting, read), read...), err
}

// foundWaiting is what the mailbox proves about a message that is not archived; holder is as in eachWaiting.
func foundWaiting(msg mail.Message, holder *mailFile) Found {
	st := Found{Where: Queued, At: msg.Time(), Message: msg}
	if holder != nil {
		st.Where, st.At, st.By = Handed, holder.at, holder.by
	}
	if holder != nil && holder.done {
		st.Where = Read
	}
	return st
}

// withoutRead drops messages that were archived since they were seen waiting.
func withoutRead(waiting, read []Found) []Found {
	archived := map[mail.Key]bool{}
	for _, st := range read {
		archived[st.Message.RecordKey()] = true
	}
	return slices.DeleteFunc(waiting, func(st Found) bool { return archived[st.Message.RecordKey()] })
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

// foundRead is what a record of the archive proves.
func foundRead(r archive.Record) Found {
	return Found{Read, mail.FromSeconds(r.DrainedAt), r.DrainedBy, r.Message}
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
	err = m.eachWaiting(nil, func() bool { return size < enough }, func(msg mail.Message, holder *mailFile) {
		if k := msg.Key(); holder == nil && (hidden || !m.hides(msg)) && (!seen[k] || msg.HasLegacyID()) {
			seen[k] = true
			msgs = append(msgs, msg)
			size += int64(len(msg.Content))
		}
	})
	return msgs, err
}

// always has eachOf look at each file.
func always() bool { return true }

// eachWaiting calls f for every message that is not archived, file by file, while
// more says yes; holder is nil unless a live reader has it or an ack of it waits
// for space. What holds says no to, a file or a line of one, is passed over; nil passes over none.
// The caller holds the lock, so nobody takes a file while we look at its lock.
func (r *row) eachWaiting(holds func(file []byte) bool, more func() bool, f func(msg mail.Message, holder *mailFile)) error {
	err := r.inLease(func(dir *atomicfile.Dir) error { return r.eachLeased(dir, holds, more, f) })
	if err != nil || !more() {
		return err
	}
	return r.eachInInbox(holds, f)
}

func (r *row) eachInInbox(holds func(file []byte) bool, f func(msg mail.Message, holder *mailFile)) error {
	file, err := r.root.ReadIf(r.inboxName())
	if err != nil {
		return err
	}
	for _, msg := range decodeSome(file, holds) {
		f(msg, nil)
	}
	return nil
}

// eachLeased is eachWaiting for the lease directory.
func (r *row) eachLeased(dir *atomicfile.Dir, holds func([]byte) bool, more func() bool, f func(mail.Message, *mailFile)) error {
	files, err := mailFiles(dir)
	if err != nil {
		return err
	}
	return r.eachOf(dir, files, holds, more, f)
}

func (r *row) eachOf(dir *atomicfile.Dir, files []*mailFile, holds func([]byte) bool, more func() bool, f func(mail.Message, *mailFile)) error {
	var buf []byte
	for _, mf := range files {
		if !more() {
			break
		}
		holder, err := r.peekFile(dir, mf, holds, &buf)
		if err != nil {
			return err
		}
		for _, msg := range mf.msgs {
			f(msg, holder)
		}
		for _, msg := range mf.pending {
			f(msg, mf.asRead())
		}
	}
	return nil
}

// peekFile reads a numbered file and does not lock it; holder is as in eachWaiting. It reads into *buf, which serves for the next
// file, too.
func (r *row) peekFile(dir *atomicfile.Dir, mf *mailFile, holds func([]byte) bool, buf *[]byte) (holder *mailFile, err error) {
	free := false
	if holds == nil || len(mf.acked) > 0 {
		free, err = r.load(dir, mf, false)
	} else {
		free, *buf, err = r.loadSome(dir, mf, holds, *buf)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errForeign) {
		return nil, err
	}
	if free && !mf.done {
		return nil, nil
	}
	return mf, nil
}
