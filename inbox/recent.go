package inbox

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Recent first reads recentFirst bytes at the end of a file, which usually have the last message.
// If that is not enough, it reads recentMost bytes.
const (
	recentFirst = 8 << 10
	recentMost  = 2 << 20 // enough for the largest body with its escapes in JSON
)

// Recent calls f with the latest records, newest first, until f returns false. It reads only the
// ends of the two newest files, takes no lock, and skips lines that it cannot read.
func (s *Archive) Recent(f func(ArchiveRecord) (more bool)) error {
	dir, err := s.root.Sub(Dir, false)
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	more, err := recentIn(dir, s.Name(), f)
	if err != nil || !more {
		return err
	}
	old, err := dir.Sub(s.OldName(), false) // the newest file is still short
	if err != nil {
		return atomicfile.UnlessAbsent(err)
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

// Changed returns the version of the newest file of the archive; zero if there is none. A new record
// changes it.
func (s *Archive) Changed() (atomicfile.Version, error) {
	dir, err := s.root.Sub(Dir, false)
	if err != nil {
		return atomicfile.Version{}, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	info, err := dir.Stat(s.Name())
	return info.Version, atomicfile.UnlessAbsent(err)
}

// recentIn is Recent for one file. The result more is true if f wants older records, and this file
// has no more.
func recentIn(dir *atomicfile.Dir, name string, f func(ArchiveRecord) bool) (more bool, err error) {
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
		first := end // the offset of the oldest complete line so far
		stopped := false
		atomicfile.EachBackwards(lines, func(line []byte) bool {
			at := end - int64(len(line))
			if at == begin && begin > 0 {
				return false // perhaps only the end of a line
			}
			first, end = at, at-1
			var record ArchiveRecord
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

// LastRead returns the time of the last record in the archive file called name. It returns the zero
// time if there is no record, or if it has no time.
func LastRead(dir *atomicfile.Dir, name string) (at time.Time, err error) {
	_, err = recentIn(dir, name, func(r ArchiveRecord) (more bool) {
		if r.DrainedAt > 0 {
			at = mail.FromSeconds(r.DrainedAt)
		}
		return false
	})
	return at, err
}
