package inbox

import (
	"encoding/json"
	"errors"
	"time"

	"c2c/inbox/archive"
	"c2c/inbox/atomicfile"
	"c2c/inbox/fields"
	"c2c/inbox/mail"
)

// Backlog is what waits in a mailbox, and when it was read.
type Backlog struct {
	Count    int       // messages that no live reader has in its hands
	Oldest   time.Time // when the first of them was sent; zero: not known
	LastRead time.Time // when mail was handed over last; zero: never, or not known
}

// Backlogs looks into the mailboxes of a root. It takes no lock, believes the names of the numbered files, and opens only
// what is there: a list asks it about hundreds.
type Backlogs struct {
	root, archives    *atomicfile.Dir // archives is nil when there is none
	there, isArchived map[string]bool // the names in both
}

// OpenBacklogs looks into a root with these names in it.
func OpenBacklogs(root *atomicfile.Dir, there map[string]bool) (b *Backlogs, err error) {
	b = &Backlogs{root: root, there: there}
	if b.archives, err = root.Sub(archive.Dir, false); err != nil {
		return b, atomicfile.UnlessAbsent(err)
	}
	if b.isArchived, err = b.archives.NameSet(); err != nil {
		b.archives.Close()
	}
	return b, err
}

// Close ends the use.
func (b *Backlogs) Close() {
	if b.archives != nil {
		b.archives.Close()
	}
}

// Of gives the backlog of a session, as far as it can be read: an error says what cannot.
func (b *Backlogs) Of(sid string) (found Backlog, err error) {
	if !mail.ValidName(sid) {
		return found, nil // the original allows any id; such a session can have no mailbox
	}
	m := &row{root: b.root, sid: sid, archive: archive.New(b.root, sid, time.Now, NoLog)}
	if b.there[m.LeaseName()] {
		err = found.addLeased(m)
	}
	if b.there[m.inboxName()] {
		err = errors.Join(err, found.addInbox(m))
	}
	if b.isArchived[m.archive.Name()] {
		var rerr error
		found.LastRead, rerr = archive.LastRead(b.archives, m.archive.Name())
		err = errors.Join(err, rerr)
	}
	return found, err
}

func (b *Backlog) addLeased(m *row) (err error) {
	for mf, ferr := range m.numbered {
		if ferr == nil {
			ferr = b.addFile(mf)
		}
		err = errors.Join(err, ferr)
	}
	return err
}

func (b *Backlog) addFile(mf *mailFile) (err error) {
	if mf.done || mf.count == 0 {
		return nil
	}
	if mf.by != "" { // else no reader ever took it, and a long backlog is counted by its names
		if free, err := mf.isFree(); err != nil || !free {
			return err
		}
	}
	if b.Count == 0 {
		var first mail.Message
		if first, err = mf.first(); err == nil {
			b.Oldest = first.Time()
		}
	}
	b.Count += mf.count
	return atomicfile.UnlessAbsent(err) // a reader may just have removed it
}

func (b *Backlog) addInbox(m *row) error {
	info, err := m.root.Stat(m.inboxName())
	if err != nil || info.Size() <= int64(len("[]\n")) && info.Mode().IsRegular() {
		return atomicfile.UnlessAbsent(err)
	}
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	n, oldest, err := countFrom(file)
	if b.Count == 0 {
		b.Oldest = oldest
	}
	b.Count += n
	return err
}

// countFrom says how many messages a file has, and when the first of them was sent. Of a file in our own layout only that
// one is parsed. An error says that not all of it can be read.
func countFrom(file []byte) (n int, oldest time.Time, err error) {
	if lines, ours := fields.Lines(file); ours {
		var first mail.Message
		if json.Unmarshal(lines[0], &first) == nil {
			return len(lines), first.Time(), nil
		}
	}
	msgs, damaged := decode(file)
	if damaged {
		err = errDamaged
	}
	if len(msgs) > 0 {
		oldest = msgs[0].Time()
	}
	return len(msgs), oldest, err
}
