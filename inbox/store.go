// This part keeps the messages that were handed over to a session, one per line, and finds them
// again. The archive of a session <sid> has these files in the root, which is the directory with a
// project's mail:
//
//	archive/<sid>.jsonl              the newest messages
//	archive/<sid>.old/<base>.jsonl   older files, which do not change any more; each has an index of ids (archiveids.go)
//
// A place in the archive is the number of bytes that were archived before it, counted from the
// first message. <base> is the place where the file begins. Records keep their places when files
// are rotated or pruned.

package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"c2c/internal/atomicfile"
)

const (
	Dir = "archive" // below the root
	// maxPart is the size at which the newest file is rotated.
	maxPart = 1 << 20
	// maxPlace bounds the places, because they are in file names.
	maxPlace = 1 << 51
)

// An Archive is the archive of one session.
type Archive struct {
	root *atomicfile.Dir
	sid  string
	now  func() time.Time
	log  Log
	own  atomic.Pointer[span] // the part that AppendLeased has appended without a gap
}

// NewArchive returns the archive of a session in a root. It does not touch the disk.
func NewArchive(root *atomicfile.Dir, sid string, now func() time.Time, log Log) *Archive {
	return &Archive{root: root, sid: sid, now: now, log: log}
}

// Name returns the name of the newest file, LockName the name of the archive's lock, and OldName
// the name of the directory with the older files. All three are in the directory Dir.
func (s *Archive) Name() string     { return s.sid + ".jsonl" }
func (s *Archive) LockName() string { return s.sid + ".lock" }
func (s *Archive) OldName() string  { return s.sid + ".old" }

// underLock calls f under the archive's lock. The argument of f is the directory of all archives,
// which underLock makes if it is missing.
func (s *Archive) underLock(ctx context.Context, f func(dir *atomicfile.Dir) error) error {
	dir, err := s.root.Sub(Dir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	return atomicfile.WithLock(ctx, dir, s.LockName(), func() error { return f(dir) })
}

// LockPath returns the path of the lock file. Whoever archives messages closes this file
// afterwards, and a watch on the file reports this.
func (s *Archive) LockPath() string { return filepath.Join(s.root.Path(), Dir, s.LockName()) }

// Mark is a place in the archive.
type Mark int64

// Mark returns the end of the archive, and makes sure that the file at LockPath exists, so that it
// can be watched.
func (s *Archive) Mark(ctx context.Context) (mark Mark, err error) {
	err = s.underLock(ctx, func(*atomicfile.Dir) error {
		size, err := s.End()
		mark = Mark(size)
		return err
	})
	return mark, err
}

// IDsSince returns the ids of the messages that were archived after a mark.
func (s *Archive) IDsSince(mark Mark) (map[string]bool, error) {
	found, err := s.Since(int64(mark))
	ids := map[string]bool{}
	for k := range found {
		ids[k.ID] = true
	}
	return ids, err
}

func partName(base int64) string { return fmt.Sprintf("%016d.jsonl", base) }

func parsePart(name string) (base int64, ok bool) {
	base, err := strconv.ParseInt(strings.TrimSuffix(name, ".jsonl"), 10, 64)
	return base, err == nil && base >= 0 && base < maxPlace && partName(base) == name
}

// newPartName is partName for a file that will be written. It returns an error if the base is too
// large for a name.
func newPartName(base int64) (string, error) {
	name := partName(base)
	if _, ok := parsePart(name); !ok {
		return "", fmt.Errorf("name archive file %q: the archive is too long", name)
	}
	return name, nil
}

// snapshot lists the files of an archive at one moment. Reading them needs no lock.
type snapshot struct {
	old    *atomicfile.Dir    // nil: nothing was rotated yet
	bases  []int64            // places of the older files, oldest first
	ids    map[string]bool    // the names of the indexes of older files
	base   int64              // place of the newest file
	size   int64              // size of the newest file
	newest *atomicfile.Handle // nil: there is none
}

func (a *snapshot) end() int64 { return a.base + a.size }

func (a *snapshot) close() {
	if a.newest != nil {
		a.newest.Close()
	}
	if a.old != nil {
		a.old.Close()
	}
}

// open opens the newest file and then lists the older ones. If a rotation came in between, it tries
// again.
func (s *Archive) open() (*snapshot, error) {
	dir, err := s.root.Sub(Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return &snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for {
		a := &snapshot{}
		err := s.list(dir, a)
		if err == nil && a.isCurrent(dir, s.Name()) {
			return a, nil
		}
		a.close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that is gone was pruned
			return nil, err
		}
	}
}

func (s *Archive) list(dir *atomicfile.Dir, a *snapshot) (err error) {
	if a.newest, a.size, err = openSized(dir, s.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a.old, err = dir.Sub(s.OldName(), false)
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	names, err := a.old.Names()
	a.ids = map[string]bool{}
	for _, name := range names {
		if base, ok := parsePart(name); ok {
			a.bases = append(a.bases, base)
		} else if strings.HasSuffix(name, ".ids") {
			a.ids[name] = true
		}
	}
	if err != nil || len(a.bases) == 0 {
		return err
	}
	slices.Sort(a.bases)
	last := a.bases[len(a.bases)-1]
	f, size, err := openSized(a.old, partName(last))
	if err != nil {
		return err
	}
	a.base = last + size
	return f.Close()
}

// isCurrent reports whether the newest file is still the one that was opened: no rotation came in
// between.
func (a *snapshot) isCurrent(dir *atomicfile.Dir, name string) bool {
	if a.newest == nil {
		_, err := dir.Stat(name)
		return errors.Is(err, fs.ErrNotExist)
	}
	same, err := dir.IsFile(name, a.newest)
	return err == nil && same
}

func openSized(dir *atomicfile.Dir, name string) (*atomicfile.Handle, int64, error) {
	f, err := dir.OpenHandle(name, os.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	return f, f.Size(), nil
}

// readWhole reads a file, into buf if buf is large enough. It reads at most the last
// atomicfile.MaxFile bytes, because a hostile file may be one large hole.
func readWhole(f *atomicfile.Handle, buf []byte) ([]byte, error) {
	size, err := f.SizeNow()
	if err != nil {
		return nil, err
	}
	start := max(0, size-atomicfile.MaxFile)
	buf = slices.Grow(buf[:0], int(size-start))
	n, err := f.ReadAt(buf[:size-start], start)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], err
}

// rotate makes the newest file an older file, with one rename, so after a crash the file has one of
// the two names. Then rotate syncs both directories, before any record is in the next file. The
// caller holds the archive's lock.
func (s *Archive) rotate(dir *atomicfile.Dir, a *snapshot) (err error) {
	if a.old == nil {
		if a.old, err = dir.Sub(s.OldName(), true); err != nil {
			return err
		}
	}
	name, err := newPartName(a.base)
	if err != nil {
		return err
	}
	if err := dir.Move(s.Name(), a.old, name); err != nil {
		return err
	}
	if !slices.Contains(a.bases, a.base) { // an empty file may be there, see pruneParts
		a.bases = append(a.bases, a.base)
	}
	a.base, a.size = a.end(), 0
	return errors.Join(a.old.Sync(), dir.Sync())
}
