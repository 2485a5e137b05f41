package inbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"c2c/inbox/atomicfile"
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
	if b.archives, err = root.Sub(archiveDir, false); err != nil {
		return b, unlessAbsent(err)
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

// unlessAbsent passes over the error that something is not there.
func unlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// maxFirst bounds what is read of a file to find one message.
const maxFirst = 1 << 20

// Of gives the backlog of a session.
func (b *Backlogs) Of(sid string) (found Backlog, err error) {
	if !ValidName(sid) {
		return found, nil // the original allows any id; such a session can have no mailbox
	}
	m := &Mailbox{root: b.root, sid: sid}
	if b.there[m.LeaseName()] {
		err = m.inLease(found.addLeased)
	}
	if b.there[m.inboxName()] && err == nil {
		err = found.addInbox(m)
	}
	if b.isArchived[m.archiveName()] && err == nil {
		found.LastRead, err = lastRead(b.archives, m.archiveName())
	}
	return found, err
}

func (b *Backlog) addLeased(dir *atomicfile.Dir) error {
	files, err := mailFiles(dir)
	for _, mf := range files {
		if err != nil || mf.done || mf.count == 0 {
			continue
		}
		var free bool
		if free, err = mf.free(dir); !free {
			continue
		}
		if b.Count == 0 {
			b.Oldest = oldestIn(dir, mf.name())
		}
		b.Count += mf.count
	}
	return err
}

// oldestIn is when the first message of a file was sent.
func oldestIn(dir *atomicfile.Dir, name string) time.Time {
	f, err := dir.Open(name, os.O_RDONLY)
	if err != nil {
		return time.Time{} // a reader has just removed it
	}
	defer f.Close()
	return firstOf(f)
}

func (b *Backlog) addInbox(m *Mailbox) error {
	info, err := m.root.Stat(m.inboxName())
	if err != nil || info.Size() <= int64(len("[]\n")) && info.Mode().IsRegular() {
		return unlessAbsent(err)
	}
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	n, _ := count(file)
	if b.Count == 0 {
		b.Oldest = firstOf(bytes.NewReader(file))
	}
	b.Count += n
	return nil
}

// firstOf is when the first message of a file in our own layout, one a line, was sent.
func firstOf(file io.Reader) (at time.Time) {
	lines := bufio.NewReader(io.LimitReader(file, maxFirst))
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.Trim(line, "[], \t\r\n"); len(line) > 0 {
			var msg Message
			if msg.UnmarshalJSON(line) == nil {
				at = msg.Time()
			}
			return at
		}
		if err != nil {
			return at
		}
	}
}

// lastTail is how much of an archive is read at first to find its last record.
const lastTail = 4 << 10

// lastRead is when the last record of an archive was written. It has a line for each message.
func lastRead(dir *atomicfile.Dir, name string) (at time.Time, err error) {
	f, size, err := openSized(dir, name)
	if err != nil {
		return at, unlessAbsent(err)
	}
	defer f.Close()
	for most := int64(lastTail); ; most *= 16 {
		from := max(0, size-most)
		tail, err := readBehind(f, from, nil)
		if err != nil {
			return at, err
		}
		tail = bytes.TrimRight(tail, "\n")
		begin := bytes.LastIndexByte(tail, '\n') + 1
		if begin == 0 && from > 0 && most < maxFirst {
			continue // the last line is longer
		}
		var record struct {
			At float64 `json:"drained_at"`
		}
		if json.Unmarshal(tail[begin:], &record) == nil && record.At > 0 {
			at = FromSeconds(record.At)
		}
		return at, nil
	}
}
