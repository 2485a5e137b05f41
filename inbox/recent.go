package inbox

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Recent first reads recentFirst bytes at the end of a file, which usually have the last message. It
// reads at most recentMost bytes.
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

// Changed describes the newest file of the archive; zero if there is none. A new record
// changes it.
func (s *Archive) Changed() (atomicfile.Info, error) {
	dir, err := s.root.Sub(Dir, false)
	if err != nil {
		return atomicfile.Info{}, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	info, err := dir.Stat(s.Name())
	return info, atomicfile.UnlessAbsent(err)
}

// recentIn is Recent for one file. The result more is true if f wants older records.
func recentIn(dir *atomicfile.Dir, name string, f func(ArchiveRecord) (more bool)) (more bool, err error) {
	file, err := dir.OpenHandle(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	r := atomicfile.BackReader{Block: recentFirst}
	return r.Read(file, file.Size()-recentMost, func(lines []byte) bool { return eachRecord(lines, nil, f) })
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
