package inbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"os"

	"c2c/internal/atomicfile"
)

// Take merges the records of another archive into this one, in the order of their times. It writes
// the records of both archives into new files, whose places are after all present places. So a
// search that starts at an earlier place still finds every record that was archived after that
// place. Then Take removes the files that it has replaced.
func (s *Archive) Take(ctx context.Context, source *Archive) error {
	other, err := source.open()
	if err != nil {
		return err
	}
	defer other.close()
	if other.newest == nil && len(other.bases) == 0 {
		return nil
	}
	return s.underLock(ctx, func(dir *atomicfile.Dir) error {
		own, err := s.open()
		if err != nil {
			return err
		}
		defer own.close()
		if own.newest != nil {
			err = s.rotate(dir, own)
		} else if own.old == nil {
			own.old, err = dir.Sub(s.OldName(), true)
		}
		if err != nil {
			return err
		}
		s.endCalm()
		if err := own.writeMerged(other); err != nil {
			return err
		}
		for _, base := range own.bases {
			if base == own.base { // this file was empty, so the first new file has its name, and has replaced it
				continue
			}
			if err := own.removePart(base); err != nil {
				return err
			}
		}
		return own.old.Sync()
	})
}

// writeMerged writes the records of two archives into new files, at places after the present files.
// The caller has rotated the newest file.
func (a *snapshot) writeMerged(other *snapshot) error {
	var part []byte
	base, seen := a.base, map[[sha256.Size]byte]bool{}
	write := func() error {
		name, err := newPartName(base)
		if err == nil {
			err = a.old.Write(name, part)
		}
		base += int64(len(part))
		part = part[:0]
		return err
	}
	for line, err := range inTime(a, other) {
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(line); !seen[sum] {
			seen[sum] = true
			part = append(part, line...)
		}
		if len(part) >= maxPart {
			if err := write(); err != nil {
				return err
			}
		}
	}
	return write() // perhaps an empty file, which shows where the next file begins
}

// inTime yields the lines of two archives in the order of their times. In each archive the lines
// are in this order already.
func inTime(a, b *snapshot) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		nextA, stopA := iter.Pull2(a.lines())
		defer stopA()
		nextB, stopB := iter.Pull2(b.lines())
		defer stopB()
		lineA, errA, okA := nextA()
		lineB, errB, okB := nextB()
		for okA || okB {
			if first := okA && (!okB || errA != nil || drainedAt(lineA) <= drainedAt(lineB)); first {
				if !yield(lineA, errA) {
					return
				}
				lineA, errA, okA = nextA()
			} else {
				if !yield(lineB, errB) {
					return
				}
				lineB, errB, okB = nextB()
			}
		}
	}
}

// drainedAt returns the time of a record. It returns 0 if the line does not parse, so that the line
// stays before the line that follows it.
func drainedAt(line []byte) float64 {
	var record struct {
		At float64 `json:"drained_at"`
	}
	json.Unmarshal(line, &record)
	return record.At
}

// lines yields the records, oldest first, each with its newline.
func (a *snapshot) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range len(a.bases) + 1 {
			data, err := a.part(i)
			if err != nil {
				yield(nil, err)
				return
			}
			for line := range bytes.Lines(data) {
				if line[len(line)-1] != '\n' {
					line = append(bytes.Clone(line), '\n')
				}
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

// part reads file number i. The oldest file has number 0, the newest has number len(a.bases).
func (a *snapshot) part(i int) ([]byte, error) {
	if i == len(a.bases) {
		if a.newest == nil {
			return nil, nil
		}
		return readBehind(a.newest, 0, nil)
	}
	f, err := a.old.OpenHandle(partName(a.bases[i]), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBehind(f, 0, nil)
}
