package broker

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
	registryFile = "registry.json"

	// registryMax is where the original starts to read the file as empty, and then erases it.
	registryMax = 65536
)

// FullHint says what to do about ErrRegistryFull.
const FullHint = "c2c sweep makes room: it drops the sessions that have ended, and keeps their mail as dead letters"

// rows reads the registry. It needs no lock, because the file is only ever replaced whole.
func (b *Broker) rows(ctx context.Context) ([]row, error) {
	rows, err := b.readRegistry()
	var damaged *damagedError
	if !errors.As(err, &damaged) {
		return rows, err
	}
	err = b.locked(ctx, RegistryLock, func() error {
		rows, err = b.readOrRepair(ctx) // somebody may have repaired it meanwhile
		return err
	})
	return rows, err
}

// change lets f edit the rows under the registry's lock, and writes them if they have changed.
func (b *Broker) change(ctx context.Context, f func(rows []row) ([]row, error)) error {
	return b.locked(ctx, RegistryLock, func() error {
		before, err := b.readOrRepair(ctx)
		if err != nil {
			return err
		}
		rows, err := f(slices.Clone(before))
		if err != nil || slices.EqualFunc(rows, before, func(x, y row) bool { return bytes.Equal(x, y) }) {
			return err
		}
		data := formatRegistry(rows)
		if len(data) > registryMax {
			rows = b.forget(rows, before, len(data))
			data = formatRegistry(rows)
		}
		// The original has written larger ones, which a sweep may make smaller step by step.
		if len(data) > registryMax && len(data) >= len(formatRegistry(before)) {
			return fmt.Errorf("write %s: %w: %d sessions take %d of %d bytes; %s",
				registryFile, ErrRegistryFull, len(rows), len(data), registryMax, FullHint)
		}
		return b.root.Replace(registryFile, data)
	})
}

// changeRow edits the row of a session.
func (b *Broker) changeRow(ctx context.Context, sid string, edit func(*row)) error {
	return b.change(ctx, func(rows []row) ([]row, error) {
		i := findSID(rows, sid)
		if i < 0 {
			return nil, fmt.Errorf("session %q is not registered: %w", sid, ErrNoSession)
		}
		edit(&rows[i])
		return rows, nil
	})
}

type damagedError struct{ err error }

func (e *damagedError) Error() string { return e.err.Error() }

// readRegistry takes the file apart and parses none of it, if it is in our own layout.
func (b *Broker) readRegistry() ([]row, error) {
	return b.lastRows.read(b.root)
}

// lastRows are the rows that were read last. A send asks for them three times, and a server for each call: the file is
// read anew only when another one has its name. The rows share their bytes with the callers, since the bytes of a row are never
// changed in place; the slices are their own.
type lastRows struct {
	mu      sync.Mutex
	version atomicfile.Version
	rows    []row // nil: none is known, or the file may have changed without a sign
}

func (l *lastRows) read(root *atomicfile.Dir) ([]row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows != nil {
		if now, err := root.Version(registryFile); err == nil && now == l.version {
			return slices.Clone(l.rows), nil
		}
		l.rows = nil
	}
	data, version, settled, err := root.ReadVersion(registryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, ok := splitRegistry(data)
	if !ok {
		if rows, err = parseRegistry(data); err != nil {
			return nil, &damagedError{err}
		}
	}
	if settled {
		l.version, l.rows = version, slices.Clone(rows)
	}
	return rows, nil
}

// readOrRepair reads every row. The caller holds the lock. A damaged file is copied aside, and the good rows stay. A
// session whose row is lost registers again with its next call.
func (b *Broker) readOrRepair(ctx context.Context) ([]row, error) {
	data, err := b.root.ReadIf(registryFile)
	if err != nil || data == nil {
		return nil, err
	}
	rows, damage := parseRegistry(data)
	if damage == nil {
		return rows, nil
	}
	aside := registryFile + ".corrupt-" + b.now().UTC().Format("20060102T150405.000000")
	if err := b.root.Write(aside, data); err != nil {
		return nil, err
	}
	b.log.Error("the registry was damaged; sessions that were lost register again", "kept_as", aside, "cause", damage, "sessions", len(rows))
	b.record(ctx, "damaged", Note{"file", registryFile}, Note{"kept_as", aside}, Note{"cause", damage.Error()})
	return rows, b.root.Replace(registryFile, formatRegistry(rows))
}

// findSID gives the index of a session's row, or -1. Nearly every row begins with its id, so few are parsed.
func findSID(rows []row, sid string) int {
	begin, own := []byte(`{"session_id":"`), []byte(sid+`"`)
	return slices.IndexFunc(rows, func(r row) bool {
		rest, first := bytes.CutPrefix(r, begin)
		other := first && !bytes.HasPrefix(rest, own) && bytes.IndexByte(r, '\\') < 0
		return !other && r.sid() == sid
	})
}
