package inbox

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// mailFile is a numbered file of messages in <sid>.lease/. Its name has everything that a sender or
// c2c status needs, so these need not read the file:
//
//	<number>-<count>-<bytes>.json                              as a sender made it
//	<number>-<count>-<bytes>-<archived>-<unix ms>-<reader>.json  since a reader took it
//
// On a full disk a reader can write neither to the archive, nor a new file with the messages that
// it has not handed over. A rename needs no space. So the reader puts done- before the number if it
// has handed over all messages of the file, and otherwise part-<n>-: the first <n> messages were
// handed over. The next reader that finds room archives these messages and writes the others into a
// new file.
//
// <count> is the number of messages in the file that wait. <archived> is the size of the archive
// when a reader took the file. If the archive has a message of the file after this place, the
// message was handed over, and is not offered again. If the archive has none of them there, the
// next reader sets <archived> to the end of the archive. Only the lock on the file shows whether a
// reader still has it leased.
type mailFile struct {
	dir      *atomicfile.Dir // its directory
	number   int
	count    int
	bytes    int64
	archived int64
	at       time.Time
	by       string // the last reader; empty when no reader ever took the file

	done    bool               // acked, but the archive had no room yet
	acked   int                // so many messages at its beginning were acked, but the archive had no room yet
	file    *atomicfile.Handle // open and locked while we have it leased
	free    bool               // peek found that no reader has it leased
	damaged bool
	read    bool           // a dead reader has archived some of its messages
	msgs    []mail.Message // the messages that wait
	pending []mail.Message // acked, and perhaps not archived yet
	total   int            // how many messages the file has
}

const (
	donePrefix = "done-"
	partPrefix = "part-"
	maxField   = 1 << 52 // bounds the numbers in a file's name
)

func (mf mailFile) name() string {
	b := make([]byte, 0, 96) // without fmt, because a sender makes and compares the names of all files
	switch {
	case mf.done:
		b = append(b, donePrefix...)
	case mf.acked > 0:
		b = append(strconv.AppendInt(append(b, partPrefix...), int64(mf.acked), 10), '-')
	}
	for least := 10_000_000; mf.number < least && least > 1; least /= 10 { // the number has at least eight digits
		b = append(b, '0')
	}
	b = strconv.AppendInt(b, int64(mf.number), 10)
	b = strconv.AppendInt(append(b, '-'), int64(mf.count), 10)
	b = strconv.AppendInt(append(b, '-'), mf.bytes, 10)
	if mf.by != "" {
		b = strconv.AppendInt(append(b, '-'), mf.archived, 10)
		b = strconv.AppendInt(append(b, '-'), mf.at.UnixMilli(), 10)
		b = append(append(b, '-'), mf.by...)
	}
	return string(append(b, ".json"...))
}

// newName returns the name for a file that will be written. It returns an error if a number is too
// large for a name, because readers would not find the messages.
func (mf mailFile) newName() (string, error) {
	name := mf.name()
	if _, ok := parseMailFile(name); !ok {
		return "", fmt.Errorf("name mail file %q: one of its numbers is out of range", name)
	}
	return name, nil
}

func parseMailFile(name string) (*mailFile, bool) {
	mf := &mailFile{}
	rest, done := strings.CutPrefix(name, donePrefix)
	mf.done = done
	if more, inPart := strings.CutPrefix(rest, partPrefix); inPart {
		var text string
		text, rest, _ = strings.Cut(more, "-")
		mf.acked, _ = strconv.Atoi(text)
	}
	stem, ok := strings.CutSuffix(rest, ".json")
	part := strings.SplitN(stem, "-", 6)
	if !ok || len(part) != 3 && (len(part) != 6 || !mail.ValidName(part[5])) || mf.acked < 0 || mf.acked > 0 && (mf.done || len(part) == 3) {
		return nil, false
	}
	var n [5]int64
	for i := range min(len(part), len(n)) {
		v, err := strconv.ParseInt(part[i], 10, 64)
		if err != nil || v < 0 || v > maxField {
			return nil, false
		}
		n[i] = v
	}
	mf.number, mf.count, mf.bytes = int(n[0]), int(n[1]), n[2]
	if len(part) == 6 {
		mf.archived, mf.at, mf.by = n[3], time.UnixMilli(n[4]), part[5]
	}
	return mf, mf.name() == name
}

// mailFiles lists a lease directory in the order of delivery.
func mailFiles(dir *atomicfile.Dir) ([]*mailFile, error) {
	names, err := dir.Names()
	return mailFilesOf(dir, names), err
}

func mailFilesOf(dir *atomicfile.Dir, names []string) (files []*mailFile) {
	for _, name := range names {
		if mf, ok := parseMailFile(name); ok {
			mf.dir = dir
			files = append(files, mf)
		}
	}
	slices.SortFunc(files, func(a, b *mailFile) int { return cmp.Compare(a.number, b.number) })
	return files
}

// numbered yields the numbered files, oldest first. Their directory stays open until the loop ends.
// An error comes last.
func (r *row) numbered(yield func(*mailFile, error) bool) {
	err := r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		for _, mf := range files {
			if !yield(mf, nil) {
				return nil
			}
		}
		return err
	})
	if err != nil {
		yield(nil, err)
	}
}

func (mf *mailFile) open(flag int) (*atomicfile.Handle, error) {
	f, err := mf.dir.OpenHandle(mf.name(), flag)
	if err == nil && f.Size() > atomicfile.MaxFile {
		f.Close()
		return nil, fmt.Errorf("%q: %w: %d bytes", f.Name(), atomicfile.ErrTooLarge, f.Size())
	}
	return f, err
}

// isFree reports whether no reader has the file leased. If the file does not exist, it was acked
// just now, and isFree returns false.
func (mf *mailFile) isFree() (bool, error) {
	f, err := mf.open(os.O_RDONLY)
	if err != nil {
		return false, atomicfile.UnlessAbsent(err)
	}
	defer f.Close()
	return atomicfile.FreeFile(f)
}

// The method first returns the first message of the file that is not acked. It does not read on
// after this message.
func (mf *mailFile) first() (msg mail.Message, err error) {
	f, err := mf.open(os.O_RDONLY)
	if err != nil {
		return msg, err
	}
	defer f.Close()
	if msg, err = firstOf(f, mf.acked); err != nil {
		err = fmt.Errorf("read %q: %w", f.Name(), err)
	}
	return msg, err
}

// load opens a file and reads its messages, except those that a dead reader has archived. The
// result free reports whether no reader has the file leased. If take is set, a free file stays open
// and locked.
func (r *row) load(mf *mailFile, take bool) (free bool, err error) {
	flag, lock := os.O_RDONLY, atomicfile.FreeFile
	if take {
		flag, lock = os.O_RDWR, atomicfile.TryFile
	}
	if mf.file, err = mf.open(flag); err != nil {
		return false, err
	}
	defer func() {
		if !take || !free || err != nil {
			mf.file.Close()
		}
	}()
	if free, err = lock(mf.file); err != nil || take && !free {
		return free, err
	}
	data, err := atomicfile.ReadAll(mf.file, nil)
	if err != nil {
		return free, fmt.Errorf("read %q: %w", mf.file.Name(), err)
	}
	mf.msgs, mf.damaged = decode(data)
	nameLegacy(mf.msgs)
	if take {
		for i := range mf.msgs {
			mf.msgs[i].Position = i
		}
	}
	mf.splitRead()
	return free, r.dropRead(mf, free)
}

// loadSome is load without take, for some of the messages. The function holds reports whether a
// file, or a line of it, may have one of these messages. loadSome does not parse other lines, and
// checks the lock only if holds accepts the file. It reads into buf, and returns buf for the next
// file.
func (r *row) loadSome(mf *mailFile, holds func([]byte) bool, buf []byte) (free bool, _ []byte, err error) {
	f, err := mf.open(os.O_RDONLY)
	if err != nil {
		return false, buf, err
	}
	defer f.Close()
	if buf, err = atomicfile.ReadAll(f, buf); err != nil {
		return false, buf, fmt.Errorf("read %q: %w", f.Name(), err)
	}
	if !holds(buf) {
		return false, buf, nil
	}
	if free, err = atomicfile.FreeFile(f); err != nil {
		return free, buf, err
	}
	mf.msgs = decodeSome(buf, holds)
	return free, buf, r.dropRead(mf, free)
}

// dropRead drops the messages that a dead reader of the file has archived.
func (r *row) dropRead(mf *mailFile, free bool) error {
	before := len(mf.msgs) + len(mf.pending)
	if free && mf.by != "" && before > 0 { // if no reader ever took the file, none of it was handed over
		gone, err := r.archive.Since(mf.archived)
		if err != nil {
			return err
		}
		isGone := func(msg mail.Message) bool { return gone[msg.RecordKey()] }
		mf.msgs, mf.pending = slices.DeleteFunc(mf.msgs, isGone), slices.DeleteFunc(mf.pending, isGone)
		mf.read = len(mf.msgs)+len(mf.pending) < before
	}
	return nil
}

// splitRead moves the messages that the file's name marks as read from msgs to pending. The caller
// has just read the file.
func (mf *mailFile) splitRead() {
	mf.total = len(mf.msgs)
	n := min(mf.acked, mf.total)
	mf.pending, mf.msgs = mf.msgs[:n:n], mf.msgs[n:]
}

// rename renames the file. The function change changes the values that are in the name.
func (mf *mailFile) rename(change func(next *mailFile)) error {
	next := *mf
	change(&next)
	name, err := next.newName()
	if err == nil {
		err = mf.dir.Rename(mf.name(), name)
	}
	if err == nil {
		*mf = next
	}
	return err
}
