package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// How much of an archive file Recent reads, in bytes: the little first, which has the last message as a rule.
const (
	recentFirst = 8 << 10
	recentMost  = 2 << 20 // a body of the largest size, escaped, and some more
)

// Recent calls f for what was handed over last, newest first, until it returns false. It looks at the end of the newest
// files alone, takes no lock, and passes over what it cannot read.
func (s *Store) Recent(f func(Record) (more bool)) error {
	dir, err := s.root.Sub(Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	more, err := recentIn(dir, s.Name(), f)
	if err != nil || !more {
		return err
	}
	old, err := dir.Sub(s.OldName(), false) // the newest file has just begun
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer old.Close()
	names, err := old.Names()
	last := int64(-1)
	for _, name := range names {
		if base, ok := parsePart(name); ok {
			last = max(last, base)
		}
	}
	if err != nil || last < 0 {
		return err
	}
	_, err = recentIn(old, partName(last), f)
	return err
}

// recentIn reads one file. more says that f wants to see what is older, and that this file has nothing older.
func recentIn(dir *atomicfile.Dir, name string, f func(Record) bool) (more bool, err error) {
	file, size, err := openSized(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	end := size
	for _, window := range []int64{recentFirst, recentMost} {
		begin := max(0, size-window)
		lines, err := readBetween(file, begin, end)
		if err != nil {
			return false, err
		}
		first := end // where the oldest whole line begins that was read
		stopped := false
		eachBackwards(lines, func(line []byte) bool {
			at := end - int64(len(line))
			if at == begin && begin > 0 {
				return false // the end of a line, perhaps
			}
			first, end = at, at-1
			var record Record
			if len(line) > 0 && json.Unmarshal(line, &record) == nil {
				stopped = !f(record)
			}
			return !stopped
		})
		if stopped || begin == 0 {
			return !stopped, nil
		}
		end = first
	}
	return false, nil
}

func readBetween(file io.ReaderAt, begin, end int64) ([]byte, error) {
	data := make([]byte, max(0, end-begin))
	n, err := file.ReadAt(data, begin)
	if err == io.EOF {
		err = nil
	}
	return data[:n], err
}

// lastTail is how much of an archive is read at first to find its last record.
const lastTail = 4 << 10

// LastRead is when the last record of an archive was written. It has a line for each message.
func LastRead(dir *atomicfile.Dir, name string) (at time.Time, err error) {
	f, size, err := openSized(dir, name)
	if err != nil {
		return at, atomicfile.UnlessAbsent(err)
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
			at = mail.FromSeconds(record.At)
		}
		return at, nil
	}
}

// maxFirst bounds what is read of an archive to find its last record.
const maxFirst = 1 << 20
