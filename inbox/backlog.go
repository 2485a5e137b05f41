package inbox

import (
	"encoding/json"
	"errors"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/fields"
)

// Backlog says how much mail waits in a mailbox, and when the session last read mail.
type Backlog struct {
	Count    int       // messages that no live reader has leased
	Oldest   time.Time // when the oldest of them was sent; zero: not known
	LastRead time.Time // when mail was last handed over; zero: never, or not known
}

// Backlogs reads the backlogs of a root's mailboxes. It must be fast, because a list of sessions
// may need hundreds of backlogs. So it takes no lock, trusts the names of the numbered files, and
// opens only files that exist.
type Backlogs struct {
	root, archives     *atomicfile.Dir // archives may be nil
	inRoot, inArchives map[string]bool // the names of the files in the two directories
}

// OpenBacklogs prepares to read the backlogs of a root. The argument inRoot has the names of the
// files in the root.
func OpenBacklogs(root *atomicfile.Dir, inRoot map[string]bool) (b *Backlogs, err error) {
	b = &Backlogs{root: root, inRoot: inRoot}
	if b.archives, err = root.Sub(Dir, false); err != nil {
		return b, atomicfile.UnlessAbsent(err)
	}
	if b.inArchives, err = b.archives.NameSet(); err != nil {
		b.archives.Close()
	}
	return b, err
}

// Close closes the archive directory.
func (b *Backlogs) Close() {
	if b.archives != nil {
		b.archives.Close()
	}
}

// The method Of returns the backlog of a session. After an error, the result has the part that
// could be read.
func (b *Backlogs) Of(sid string) (Backlog, error) { return b.of(sid, false) }

// OfOutbox is Of for an outbox. It also counts the messages that a live reader has leased: the
// relay leases all messages that it sends, and they count as waiting until the other host has
// stored them.
func (b *Backlogs) OfOutbox(sid string) (Backlog, error) { return b.of(sid, true) }

func (b *Backlogs) of(sid string, leased bool) (found Backlog, err error) {
	if !mail.ValidName(sid) {
		return found, nil // no mailbox can have such an id
	}
	m := &row{root: b.root, sid: sid, archive: NewArchive(b.root, sid, time.Now, NoLog)}
	if b.inRoot[m.LeaseName()] {
		err = found.addLeased(m, leased)
	}
	if b.inRoot[m.inboxName()] {
		err = errors.Join(err, found.addInbox(m))
	}
	if b.inArchives[m.archive.Name()] {
		var rerr error
		found.LastRead, rerr = LastRead(b.archives, m.archive.Name())
		err = errors.Join(err, rerr)
	}
	return found, err
}

func (b *Backlog) addLeased(m *row, leased bool) (err error) {
	for mf, ferr := range m.numbered {
		if ferr == nil {
			ferr = b.addFile(mf, leased)
		}
		err = errors.Join(err, ferr)
	}
	return err
}

func (b *Backlog) addFile(mf *mailFile, leased bool) (err error) {
	if mf.done || mf.count == 0 {
		return nil
	}
	if mf.by != "" && !leased { // if no reader ever took the file, nobody can have leased it
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
	return atomicfile.UnlessAbsent(err) // a reader may have removed it just now
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

// countFrom returns how many messages a file has, and when the first was sent. In a file of our own
// layout it parses only the first message. It returns an error if it cannot read all of the file.
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
