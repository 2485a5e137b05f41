package inbox

import (
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Where a message is. What that means for its sender is a state of package sessions.
const (
	Waiting    = "waiting"     // in the mailbox
	Leased     = "leased"      // a live reader has leased it, and not acked it
	Archived   = "archived"    // it was handed over
	DeadLetter = "dead letter" // in no mailbox any more: it was not read
)

// Found is what the disk proves about one message.
type Found struct {
	Where   string
	At      time.Time    // when it got there
	By      string       // the reader, if leased or archived
	Message mail.Message // without content if it was ephemeral and is archived
}

// The method each calls f with the state of every message in a file that peek has read.
func (mf *mailFile) each(f func(Found)) {
	where := Leased
	if mf.done {
		where = Archived
	} else if mf.free {
		where = Waiting
	}
	for i := range len(mf.msgs) + len(mf.pending) {
		found := Found{Where: where, At: mf.at, By: mf.by}
		if i < len(mf.msgs) {
			found.Message = mf.msgs[i]
		} else {
			found.Where, found.Message = Archived, mf.pending[i-len(mf.msgs)]
		}
		if found.Where == Waiting {
			found.At, found.By = found.Message.Time(), ""
		}
		f(found)
	}
}

// Found returns what a record of the archive proves.
func (r ArchiveRecord) Found() Found {
	return Found{Archived, mail.FromSeconds(r.DrainedAt), r.DrainedBy, r.Message}
}

// join returns the messages that wait, without those that were archived meanwhile, and the archived
// ones. Of a message that was put back (PutBack), only the latest copy counts.
func join(waiting, read []Found) []Found {
	archived, latest := map[mail.Key]bool{}, map[mail.Key]float64{}
	for _, st := range read {
		archived[st.Message.RecordKey()] = true
	}
	all := append(slices.DeleteFunc(waiting, func(st Found) bool { return archived[st.Message.RecordKey()] }), read...)
	first := func(st Found) mail.Key {
		st.Message.ShownAt = 0
		return st.Message.RecordKey()
	}
	for _, st := range all {
		if st.Message.ShownAt != 0 {
			latest[first(st)] = max(latest[first(st)], st.Message.ShownAt)
		}
	}
	return slices.DeleteFunc(all, func(st Found) bool { return len(latest) > 0 && st.Message.ShownAt < latest[first(st)] })
}

// peek reads the messages of a numbered file into mf, and does not lock the file. The memory in
// *buf is for this file, and the caller reuses it for the next one. peek skips files and lines for
// which the function holds returns false. If holds is nil, it skips none. The caller holds the lock
// of the mailbox, so no process can lease the file meanwhile.
func (r *row) peek(mf *mailFile, holds func([]byte) bool, buf *[]byte) (err error) {
	if holds == nil || mf.acked > 0 {
		mf.free, err = r.load(mf, false)
	} else {
		mf.free, *buf, err = r.loadSome(mf, holds, *buf)
	}
	return atomicfile.UnlessAbsent(err)
}

// peekInbox returns the inbox in the form of a file that no reader has leased.
func (r *row) peekInbox(holds func([]byte) bool) (*mailFile, error) {
	file, err := r.root.ReadIf(r.inboxName())
	if err != nil {
		return nil, err
	}
	return &mailFile{msgs: decodeSome(file, holds), free: true}, nil
}

// peekEach peeks into files, and calls f with each, until f returns false.
func (r *row) peekEach(files []*mailFile, holds func([]byte) bool, f func(*mailFile) (more bool)) (more bool, err error) {
	var buf []byte
	for _, mf := range files {
		if err := r.peek(mf, holds, &buf); err != nil || !f(mf) {
			return false, err
		}
	}
	return true, nil
}

// oldestFirst peeks into all files of the mailbox, oldest first, and calls f with each, until f
// returns false.
func (r *row) oldestFirst(holds func([]byte) bool, f func(*mailFile) (more bool)) error {
	more := true
	err := r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		if err == nil {
			more, err = r.peekEach(files, holds, f)
		}
		return err
	})
	if err != nil || !more {
		return err
	}
	inbox, err := r.peekInbox(holds)
	if err == nil {
		f(inbox)
	}
	return err
}

// newestFirst is oldestFirst in reverse. Mail that a reader leases from the inbox meanwhile may
// come twice, but is never missed.
func (r *row) newestFirst(holds func([]byte) bool, f func(*mailFile) (more bool)) error {
	inbox, err := r.peekInbox(holds)
	if err != nil || !f(inbox) {
		return err
	}
	return r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		if err == nil {
			slices.Reverse(files)
			_, err = r.peekEach(files, holds, f)
		}
		return err
	})
}
