package inbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
		err = m.inLease(found.addLeased)
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

func (b *Backlog) addLeased(dir *atomicfile.Dir) error {
	files, err := mailFiles(dir)
	for _, mf := range files {
		if mf.done || mf.count == 0 {
			continue
		}
		free, ferr := true, error(nil)
		if mf.by != "" { // else no reader ever took it, and a long backlog is counted by its names
			free, ferr = mf.free(dir)
		}
		if ferr == nil && free && b.Count == 0 {
			b.Oldest, ferr = oldestIn(dir, mf)
		}
		if free {
			b.Count += mf.count
		}
		err = errors.Join(err, ferr)
	}
	return err
}

// oldestIn is when the first message of a file was sent that waits.
func oldestIn(dir *atomicfile.Dir, mf *mailFile) (time.Time, error) {
	f, err := dir.Open(mf.name(), os.O_RDONLY)
	if err != nil {
		return time.Time{}, atomicfile.UnlessAbsent(err) // a reader has just removed it
	}
	defer f.Close()
	var first mail.Message
	info, err := f.Stat()
	if err == nil && info.Size() > atomicfile.MaxFile {
		err = atomicfile.ErrTooLarge
	}
	if err == nil {
		first, err = firstOf(f, mf.acked)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read %q: %w", filepath.Join(dir.Path(), mf.name()), err)
	}
	return first.Time(), nil
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

// firstOf reads the first message of a file in any layout that was not acknowledged, and no further.
func firstOf(file io.Reader, acked positions) (msg mail.Message, err error) {
	d := json.NewDecoder(io.LimitReader(file, maxRecord))
	open, err := d.Token()
	switch open {
	case json.Delim('['):
	case json.Delim('{'): // the format of an old version
		var key json.Token
		if key, err = d.Token(); key != "message" {
			err = cmp.Or(err, errDamaged)
		}
	default:
		err = cmp.Or(err, errDamaged)
	}
	for i := 0; err == nil && (i == 0 || acked.has(i-1)); i++ {
		msg = mail.Message{}
		err = d.Decode(&msg)
	}
	if err != nil && !errors.As(err, new(*fs.PathError)) { // else the disk is in trouble
		err = errDamaged
	}
	return msg, err
}
