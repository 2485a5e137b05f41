package inbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"c2c/internal/atomicfile"
)

// Pruned counts the files that a prune has removed, or would remove, and their bytes.
type Pruned struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Add counts one more file.
func (p *Pruned) Add(bytes int64) { p.Count, p.Bytes = p.Count+1, p.Bytes+bytes }

// Remove removes a file, or a directory with the files in it, and counts the files. If dry is set,
// it only counts.
func (p *Pruned) Remove(dir *atomicfile.Dir, name string, dry bool) error {
	info, err := dir.Stat(name)
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	if !info.Mode().IsDir() {
		if p.Add(info.Size()); dry {
			return nil
		}
		return dir.Remove(name)
	}
	sub, err := dir.Sub(name, false)
	if err != nil {
		return err
	}
	defer sub.Close()
	names, err := sub.Names()
	for _, inside := range names {
		if err == nil {
			err = p.Remove(sub, inside, dry)
		}
	}
	if err != nil || dry {
		return err
	}
	return dir.RemoveDir(name)
}

// Prune removes the files of the archive that were last changed before this time. If dry is set, it
// only counts the files.
func (s *Archive) Prune(ctx context.Context, before time.Time, dry bool) (p Pruned, err error) {
	if p, err = s.pruneParts(nil, before); err != nil || dry || p.Count == 0 {
		return p, err
	}
	err = s.underLock(ctx, func(dir *atomicfile.Dir) (err error) {
		p, err = s.pruneParts(dir, before)
		return err
	})
	return p, err
}

// pruneParts removes old parts from the directory dir; the caller holds the archive's lock. If dir
// is nil, it only counts what it would remove, and needs no lock.
func (s *Archive) pruneParts(dir *atomicfile.Dir, before time.Time) (p Pruned, err error) {
	a, err := s.open()
	if err != nil {
		return p, err
	}
	defer a.close()
	stale := func(size int64, changed time.Time) bool { return size > 0 && changed.Before(before) }
	if a.newest != nil && stale(a.newest.Size(), a.newest.ModTime()) {
		if dir == nil {
			p.Add(a.newest.Size())
		} else if err := s.rotate(dir, a); err != nil { // rotate makes it an older file, which is counted below
			return p, err
		}
	}
	var gone []int64
	for _, base := range a.bases {
		info, err := a.old.Stat(partName(base))
		if dir == nil && errors.Is(err, fs.ErrNotExist) {
			continue // another prune has removed it
		}
		if err != nil {
			return p, err
		}
		if stale(info.Size(), info.ModTime()) {
			gone = append(gone, base)
			p.Add(info.Size())
		}
	}
	if dir == nil || len(gone) == 0 {
		return p, nil
	}
	// A part's name says how many bytes were archived before it. Leave an empty file with the name
	// of the next part: otherwise the count would begin at 0 again.
	last, err := newPartName(a.base)
	if err == nil {
		err = a.old.AppendLines(last, nil)
	}
	for _, base := range gone {
		if err == nil {
			err = a.removePart(base)
		}
	}
	return p, errors.Join(err, a.old.Sync())
}
