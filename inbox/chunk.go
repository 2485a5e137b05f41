package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// chunk is a file of messages in <sid>.lease/. Its name says all about it:
//
//	<seq>-<count>-<archived>-<unix ms>-<pid>-<by>.json[l]
//
// archived is the size of the archive when it was handed out: what a dead
// holder still archived stands behind it, and is not handed over again.
type chunk struct {
	seq      int
	count    int
	archived int64
	at       time.Time
	pid      int
	by       string
	lines    bool // a spill: one record a line

	done    bool     // acknowledged, but the archive could not take it yet
	file    *os.File // open and locked while we hold it
	damaged bool
	size    int64
	msgs    []Message
}

const donePrefix = "done-"

func (c *chunk) name() string {
	ext, prefix := "json", ""
	if c.lines {
		ext = "jsonl"
	}
	if c.done {
		prefix = donePrefix
	}
	return fmt.Sprintf("%s%08d-%d-%d-%d-%d-%s.%s", prefix, c.seq, c.count, c.archived, c.at.UnixMilli(), c.pid, c.by, ext)
}

// maxField bounds the numbers of a name, so that the next one can be counted from any.
const maxField = 1 << 52

func parseChunk(name string) (*chunk, bool) {
	c := &chunk{}
	rest, done := strings.CutPrefix(name, donePrefix)
	c.done = done
	stem, ok := strings.CutSuffix(rest, ".json")
	if !ok {
		if stem, ok = strings.CutSuffix(rest, ".jsonl"); !ok {
			return nil, false
		}
		c.lines = true
	}
	part := strings.SplitN(stem, "-", 6)
	if len(part) != 6 || !ValidName(part[5]) {
		return nil, false
	}
	var n [5]int64
	for i := range n {
		v, err := strconv.ParseInt(part[i], 10, 64)
		if err != nil || v < 0 || v > maxField {
			return nil, false
		}
		n[i] = v
	}
	c.seq, c.count, c.archived, c.pid, c.by = int(n[0]), int(n[1]), n[2], int(n[4]), part[5]
	c.at = time.UnixMilli(n[3])
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
	slices.SortFunc(cs, func(a, b *chunk) int { return a.seq - b.seq })
	return cs
}

// free says whether the holder of a chunk is dead. One that is gone was
// acknowledged just now, and is nobody's.
func (c *chunk) free(dir *atomicfile.Dir) (bool, error) {
	f, err := dir.Open(c.name(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return filelock.FreeFile(f)
}

// leased adds up what the names of a lease directory say.
func leased(dir *atomicfile.Dir, names []string) (messages int, bytes int64) {
	for _, c := range chunksOf(names) {
		info, err := dir.Stat(c.name())
		if err != nil {
			continue // acknowledged just now: an ack takes no inbox lock
		}
		messages += c.count
		bytes += info.Size()
	}
	return messages, bytes
}

func (c *chunk) read() error {
	data, err := atomicfile.ReadAll(c.file)
	if err != nil {
		return fmt.Errorf("read %q: %w", c.file.Name(), err)
	}
	c.size = int64(len(data))
	if c.lines {
		c.msgs, c.damaged = decodeSpill(data)
	} else {
		c.msgs, c.damaged = decode(data)
	}
	nameLegacy(c.msgs)
	return nil
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

// parts cuts messages into groups of the size of an inbox, none empty.
func parts(msgs []Message) iter.Seq[[]Message] {
	return func(yield func([]Message) bool) {
		for len(msgs) > 0 {
			n, size := 0, 0
			for n < len(msgs) && (n == 0 || size < maxInbox) {
				size += len(msgs[n].Content) + len(msgs[n].From) + len(msgs[n].To) + 100
				n++
			}
			if !yield(msgs[:n]) {
				return
			}
			msgs = msgs[n:]
		}
	}
}
