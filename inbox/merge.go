package inbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"

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

// writeMerged writes the records of two archives, in the order of their times, into new files at
// places after the present files. The caller has rotated the newest file.
func (a *snapshot) writeMerged(other *snapshot) error {
	own, err := a.lines()
	theirs, oerr := other.lines()
	if err = errors.Join(err, oerr); err != nil {
		return err
	}
	all := append(own, theirs...)
	slices.SortStableFunc(all, func(x, y archiveLine) int { return cmp.Compare(x.at, y.at) })
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
	for _, line := range all {
		if sum := sha256.Sum256(line.text); !seen[sum] {
			seen[sum] = true
			part = append(part, line.text...)
		}
		if len(part) >= maxPart {
			if err := write(); err != nil {
				return err
			}
		}
	}
	return write() // perhaps an empty file, which shows where the next file begins
}

// archiveLine is a line of an archive, with its newline. A line that does not parse has the time of
// the line before it.
type archiveLine struct {
	at   float64
	text []byte
}

// lines returns all lines, oldest first.
func (a *snapshot) lines() (all []archiveLine, err error) {
	at := 0.0
	add := func(file *atomicfile.Handle) error {
		data, err := readWhole(file, nil)
		for text := range bytes.Lines(data) {
			var record struct {
				At float64 `json:"drained_at"`
			}
			if json.Unmarshal(text, &record) == nil {
				at = record.At
			}
			all = append(all, archiveLine{at, append(bytes.Clone(bytes.TrimSuffix(text, []byte("\n"))), '\n')})
		}
		return err
	}
	for _, base := range a.bases {
		if err := a.withPart(base, add); err != nil {
			return nil, err
		}
	}
	if a.newest != nil {
		err = add(a.newest)
	}
	return all, err
}
