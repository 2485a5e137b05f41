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

// How many bytes at the end of an archive file Recent reads: first a few, which usually have the last message.
const (
	recentFirst = 8 << 10
	recentMost  = 2 << 20 // enough for the largest body, escaped
)

// Recent calls f with the latest records, newest first, until f returns false. It reads only the end of the newest files, takes no
// lock, and skips lines that it cannot read.
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
	old, err := dir.Sub(s.OldName(), false) // the newest file is still short
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

// recentIn reads one file. more reports whether f still wants older records, and this file has none.
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
		first := end // where the oldest complete line so far begins
		stopped := false
		eachBackwards(lines, func(line []byte) bool {
			at := end - int64(len(line))
			if at == begin && begin > 0 {
				return false // perhaps only the end of a line
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

// lastTail is how much of an archive LastRead reads at first to find the last record.
const lastTail = 4 << 10

// LastRead returns when the last record of the archive file name was written. It returns the zero time if there is no file, or if
// the last line has no time.
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

// maxFirst bounds how much of an archive LastRead reads to find the last record.
const maxFirst = 1 << 20
