// This part reads and writes registry.json, the index of the sessions of a root. It has a row for
// each session, in the format that docs/compatibility.md describes.

package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/inbox"
	"c2c/internal/atomicfile"
)

// RegistryLock is the lock file of the registry. When a process closes this file, the registry may
// have changed.
const RegistryLock = "registry.json.lock"

const (
	RegistryFileName = "registry.json"

	// MaxRegistryBytes is how much c2c reads of the registry of another root.
	MaxRegistryBytes = 16 << 20
)

// RegistryFile is registry.json of an open root. It does not close the root.
type RegistryFile struct {
	root   *atomicfile.Dir
	now    func() time.Time
	log    inbox.Log
	events *EventLog
	last   lastRows
}

func (f *RegistryFile) locked(ctx context.Context, work func() error) error {
	return atomicfile.WithLock(ctx, f.root, RegistryLock, work)
}

// Rows reads the registry. It needs no lock, because the file is only ever replaced whole.
func (f *RegistryFile) Rows(ctx context.Context) ([]Row, error) {
	rows, err := f.ReadRegistry()
	if !errors.Is(err, ErrDamaged) {
		return rows, err
	}
	err = f.locked(ctx, func() error {
		rows, err = f.readOrRepair(ctx) // another process may have repaired the file meanwhile
		return err
	})
	return rows, err
}

// Change calls the function edit under the registry's lock, and writes the rows that edit returns
// if they have changed.
func (f *RegistryFile) Change(ctx context.Context, edit func(rows []Row) ([]Row, error)) error {
	return f.locked(ctx, func() error {
		before, err := f.readOrRepair(ctx)
		if err != nil {
			return err
		}
		rows, err := edit(slices.Clone(before))
		if err != nil || slices.EqualFunc(rows, before, func(x, y Row) bool { return bytes.Equal(x, y) }) {
			return err
		}
		return f.root.Replace(RegistryFileName, FormatRegistry(rows))
	})
}

// ReadRegistry reads the rows; the error may be ErrDamaged. It splits a file in our own layout
// without parsing it.
func (f *RegistryFile) ReadRegistry() ([]Row, error) {
	return f.last.read(f.root)
}

// lastRows caches the latest rows. A send needs the rows three times, and a server needs them at
// each call; the file is read again only after it was replaced. Each caller gets its own slice, but
// shares the bytes of the rows, which never change in place.
type lastRows struct {
	mu      sync.Mutex
	version atomicfile.Info
	rows    []Row // nil: not known, or the file may have changed in the same clock tick
}

func (l *lastRows) read(root *atomicfile.Dir) ([]Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows != nil {
		if now, err := root.Stat(RegistryFileName); err == nil && now == l.version {
			return slices.Clone(l.rows), nil
		}
		l.rows = nil
	}
	file, err := root.OpenHandle(RegistryFileName, os.O_RDONLY)
	if err != nil {
		return nil, atomicfile.UnlessAbsent(err)
	}
	defer file.Close()
	data, err := atomicfile.ReadAll(file, nil)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", file.Name(), err)
	}
	rows, ok := splitRegistry(data)
	if !ok {
		if rows, err = ParseRegistry(data); err != nil {
			return nil, fmt.Errorf("read %s: %w: %w", RegistryFileName, ErrDamaged, err)
		}
	}
	// If the file is written and replaced in one tick of the clock, both contents may have the same
	// version. Every tick is shorter than a second.
	if time.Since(file.ModTime()) > time.Second {
		l.version, l.rows = file.Info, slices.Clone(rows)
	}
	return rows, nil
}

// readOrRepair reads every row. The caller holds the lock. A damaged file is copied aside, and the
// good rows stay. A session whose row is lost registers again with its next call.
func (f *RegistryFile) readOrRepair(ctx context.Context) ([]Row, error) {
	data, err := f.root.ReadIf(RegistryFileName)
	if err != nil || data == nil {
		return nil, err
	}
	rows, damage := ParseRegistry(data)
	if damage == nil {
		return rows, nil
	}
	aside := asidePrefix + f.now().UTC().Format(asideTime)
	if err := f.root.Write(aside, data); err != nil {
		return nil, err
	}
	f.log.Error("the registry was damaged; sessions that were lost register again", "kept_as", aside, "cause", damage, "sessions", len(rows))
	f.events.Record(ctx, "damaged", "file", RegistryFileName, "kept_as", aside, "cause", damage.Error())
	return rows, f.root.Replace(RegistryFileName, FormatRegistry(rows))
}

// The name of a copy of a damaged file is asidePrefix and then the time, in UTC.
const (
	asidePrefix = RegistryFileName + ".corrupt-"
	asideTime   = "20060102T150405.000000"
)

// DamagedSince reports whether the file was damaged at this time or later. If the root cannot be
// listed, it may have been.
func (f *RegistryFile) DamagedSince(at time.Time) bool {
	names, err := f.root.Names()
	earliest := asidePrefix + at.UTC().Format(asideTime)
	return err != nil || slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, asidePrefix) && name >= earliest
	})
}

// FindSID returns the index of a session's row, or -1. Nearly every row begins with its session id,
// so FindSID parses few rows.
func FindSID(rows []Row, sid string) int {
	begin, own := []byte(`{"session_id":"`), []byte(sid+`"`)
	return slices.IndexFunc(rows, func(r Row) bool {
		rest, first := bytes.CutPrefix(r, begin)
		other := first && !bytes.HasPrefix(rest, own) && bytes.IndexByte(r, '\\') < 0
		return !other && r.SID() == sid
	})
}
