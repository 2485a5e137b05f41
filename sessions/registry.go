package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"c2c/inbox/atomicfile"
)

// RegistryLock is the file below the root whose closing tells that the registry may have changed.
const RegistryLock = "registry.json.lock"

const (
	RegistryFile = "registry.json"

	// RegistryMax is where the original starts to read the file as empty, and then erases it.
	RegistryMax = 65536
)

// FullHint says what to do about ErrRegistryFull.
const FullHint = "c2c sweep makes room: it drops the sessions that have ended, and keeps their mail as dead letters"

// Rows reads the registry. It needs no lock, because the file is only ever replaced whole.
func (reg *Registry) Rows(ctx context.Context) ([]Row, error) {
	rows, err := reg.ReadRegistry()
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		return rows, err
	}
	err = reg.Locked(ctx, RegistryLock, func() error {
		rows, err = reg.readOrRepair(ctx) // somebody may have repaired it meanwhile
		return err
	})
	return rows, err
}

// Change lets f edit the rows under the registry's lock, and writes them if they have changed.
func (reg *Registry) Change(ctx context.Context, f func(rows []Row) ([]Row, error)) error {
	return reg.Locked(ctx, RegistryLock, func() error {
		before, err := reg.readOrRepair(ctx)
		if err != nil {
			return err
		}
		rows, err := f(slices.Clone(before))
		if err != nil || slices.EqualFunc(rows, before, func(x, y Row) bool { return bytes.Equal(x, y) }) {
			return err
		}
		data := formatRegistry(rows)
		if len(data) > RegistryMax {
			rows = reg.forget(rows, before, len(data))
			data = formatRegistry(rows)
		}
		// The original has written larger ones, which a sweep may make smaller step by step.
		if len(data) > RegistryMax && len(data) >= len(formatRegistry(before)) {
			return fmt.Errorf("write %s: %w: %d sessions take %d of %d bytes; %s",
				RegistryFile, ErrRegistryFull, len(rows), len(data), RegistryMax, FullHint)
		}
		return reg.root.Replace(RegistryFile, data)
	})
}

// changeRow edits the row of a session.
func (reg *Registry) changeRow(ctx context.Context, sid string, edit func(*Row)) error {
	return reg.Change(ctx, func(rows []Row) ([]Row, error) {
		i := FindSID(rows, sid)
		if i < 0 {
			return nil, fmt.Errorf("session %q is not registered: %w", sid, ErrNoSession)
		}
		edit(&rows[i])
		return rows, nil
	})
}

type DamagedError struct{ err error }

func (e *DamagedError) Error() string { return e.err.Error() }

// ReadRegistry takes the file apart and parses none of it, if it is in our own layout.
func (reg *Registry) ReadRegistry() ([]Row, error) {
	return reg.lastRows.read(reg.root)
}

// lastRows are the rows that were read last. A send asks for them three times, and a server for each call: the file is
// read anew only when another one has its name. The rows share their bytes with the callers, since the bytes of a row are never
// changed in place; the slices are their own.
type lastRows struct {
	mu      sync.Mutex
	version atomicfile.Version
	rows    []Row // nil: none is known, or the file may have changed without a sign
}

func (l *lastRows) read(root *atomicfile.Dir) ([]Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows != nil {
		if now, err := root.Version(RegistryFile); err == nil && now == l.version {
			return slices.Clone(l.rows), nil
		}
		l.rows = nil
	}
	data, version, settled, err := root.ReadVersion(RegistryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, ok := splitRegistry(data)
	if !ok {
		if rows, err = ParseRegistry(data); err != nil {
			return nil, &DamagedError{err}
		}
	}
	if settled {
		l.version, l.rows = version, slices.Clone(rows)
	}
	return rows, nil
}

// readOrRepair reads every row. The caller holds the lock. A damaged file is copied aside, and the good rows stay. A
// session whose row is lost registers again with its next call.
func (reg *Registry) readOrRepair(ctx context.Context) ([]Row, error) {
	data, err := reg.root.ReadIf(RegistryFile)
	if err != nil || data == nil {
		return nil, err
	}
	rows, damage := ParseRegistry(data)
	if damage == nil {
		return rows, nil
	}
	aside := RegistryFile + ".corrupt-" + reg.Now().UTC().Format("20060102T150405.000000")
	if err := reg.root.Write(aside, data); err != nil {
		return nil, err
	}
	reg.Log.Error("the registry was damaged; sessions that were lost register again", "kept_as", aside, "cause", damage, "sessions", len(rows))
	reg.Record(ctx, "damaged", Note{"file", RegistryFile}, Note{"kept_as", aside}, Note{"cause", damage.Error()})
	return rows, reg.root.Replace(RegistryFile, formatRegistry(rows))
}

// FindSID gives the index of a session's row, or -1. Nearly every row begins with its id, so few are parsed.
func FindSID(rows []Row, sid string) int {
	begin, own := []byte(`{"session_id":"`), []byte(sid+`"`)
	return slices.IndexFunc(rows, func(r Row) bool {
		rest, first := bytes.CutPrefix(r, begin)
		other := first && !bytes.HasPrefix(rest, own) && bytes.IndexByte(r, '\\') < 0
		return !other && r.SID() == sid
	})
}
