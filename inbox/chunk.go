package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// chunk is a numbered file of messages in <sid>.lease/. Its name tells a sender
// and a status all that they need, so that neither reads it:
//
//	<number>-<count>-<bytes>.json                              as a sender made it
//	<number>-<count>-<bytes>-<archived>-<unix ms>-<reader>.json  since a reader took it
//
// count is how many of its messages wait. archived is the size of the archive
// when a reader first took the file: what the archive has behind that was handed
// over, and is not handed over again. The name does not say whether a reader
// still has the file. The lock on the file says that.
type chunk struct {
	number   int
	count    int
	bytes    int64
	archived int64
	at       time.Time
	by       string // the last reader; empty when no reader ever took the file

	done    bool     // acknowledged, but the archive had no room yet
	file    *os.File // open and locked while we hold it
	damaged bool
	msgs    []Message
}

const donePrefix = "done-"

func (c chunk) name() string {
	prefix, taken := "", ""
	if c.done {
		prefix = donePrefix
	}
	if c.by != "" {
		taken = fmt.Sprintf("-%d-%d-%s", c.archived, c.at.UnixMilli(), c.by)
	}
	return fmt.Sprintf("%s%08d-%d-%d%s.json", prefix, c.number, c.count, c.bytes, taken)
}

// newName is name for a file that is to get it. One that parseChunk would not
// know is an error: nobody would find the messages again.
func (c chunk) newName() (string, error) {
	name := c.name()
	if _, ok := parseChunk(name); !ok {
		return "", fmt.Errorf("name mail file %q: one of its numbers is out of range", name)
	}
	return name, nil
}

// maxField bounds the numbers of a name.
const maxField = 1 << 52

func parseChunk(name string) (*chunk, bool) {
	c := &chunk{}
	rest, done := strings.CutPrefix(name, donePrefix)
	c.done = done
	stem, ok := strings.CutSuffix(rest, ".json")
	part := strings.SplitN(stem, "-", 6)
	if !ok || len(part) != 3 && (len(part) != 6 || !ValidName(part[5])) {
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
	c.number, c.count, c.bytes = int(n[0]), int(n[1]), n[2]
	if len(part) == 6 {
		c.archived, c.at, c.by = n[3], time.UnixMilli(n[4]), part[5]
	}
	return c, c.name() == name
}

// chunks lists a lease directory in the order of delivery.
func chunks(dir *atomicfile.Dir) ([]*chunk, error) {
	names, err := dir.Names()
	return chunksOf(names), err
}

func chunksOf(names []string) (cs []*chunk) {
	for _, name := range names {
		if c, ok := parseChunk(name); ok {
			cs = append(cs, c)
		}
	}
	slices.SortFunc(cs, func(a, b *chunk) int { return cmp.Compare(a.number, b.number) })
	return cs
}

// errOdd says that what has the name of a mail file is none that we can read: a directory, a FIFO, a link, a
// hole, somebody else's. It stays where it is, is told of, and hides no other file.
var errOdd = errors.New("not a mail file of ours")

func (c *chunk) open(dir *atomicfile.Dir, flag int) (*os.File, error) {
	f, err := dir.Open(c.name(), flag)
	if errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w", errOdd, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > atomicfile.MaxFile {
		err = fmt.Errorf("%w: %q has %d bytes", errOdd, f.Name(), info.Size())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Odd lists what has the name of a mail file and is none of ours, with the reason.
func (m *Mailbox) Odd() (found []error, err error) {
	err = m.inLease(func(dir *atomicfile.Dir) error {
		cs, err := chunks(dir)
		for _, c := range cs {
			f, err := c.open(dir, os.O_RDONLY)
			if err == nil {
				f.Close()
			} else if errors.Is(err, errOdd) {
				found = append(found, err)
			}
		}
		return err
	})
	return found, err
}

// free says whether nobody has a chunk in hand. One that is gone was
// acknowledged just now, and is nobody's.
func (c *chunk) free(dir *atomicfile.Dir) (bool, error) {
	f, err := c.open(dir, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOdd) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return filelock.FreeFile(f)
}

// read reads the open file. With ids it parses nothing of a file that holds none
// of them.
func (c *chunk) read(ids map[string]bool) error {
	data, err := atomicfile.ReadAll(c.file)
	if err != nil {
		return fmt.Errorf("read %q: %w", c.file.Name(), err)
	}
	if mayHold(data, ids) {
		c.msgs, c.damaged = decode(data)
		nameLegacy(c.msgs)
	}
	return nil
}

// handedOver tells which messages of a chunk a reader has archived before it
// died. What no reader ever took was handed over to nobody.
func (m *Mailbox) handedOver(c *chunk) (map[key]bool, error) {
	if c.by == "" {
		return nil, nil
	}
	return m.archivedSince(c.archived)
}

// nameLegacy gives ids to messages that came without; two equal ones stay two.
func nameLegacy(msgs []Message) {
	seen := map[string]int{}
	for i := range msgs {
		if msgs[i].ID == "" {
			id := msgs[i].legacyID()
			if seen[id]++; seen[id] > 1 {
				id += "-" + strconv.Itoa(seen[id])
			}
			msgs[i].ID = id
		}
	}
}
