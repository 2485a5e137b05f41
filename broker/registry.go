package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"c2c/inbox/atomicfile"
)

// RegistryLock is the file below the root whose closing tells that the registry may have changed.
const RegistryLock = "registry.json.lock"

const (
	registryFile = "registry.json"

	// registryMax is where the original starts to read the file as empty, and then erases it.
	registryMax = 65536
)

// CorruptError says that a file of ours could not be read and was renamed aside.
type CorruptError struct {
	File  string // name under the root
	Aside string // its new name
	Err   error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged (%v); it was kept as %s: repair it and move it back, or leave it and let each session register again",
		e.File, e.Err, e.Aside)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// rows reads the registry. It needs no lock, because the file is only ever replaced whole.
func (b *Broker) rows(ctx context.Context) ([]row, error) {
	rows, err := b.readRegistry()
	if err == nil {
		return rows, nil
	}
	var damaged *damagedError
	if !errors.As(err, &damaged) {
		return nil, err
	}
	err = b.locked(ctx, RegistryLock, func() error {
		rows, err = b.readOrSetAside() // somebody may have mended it meanwhile
		return err
	})
	return rows, err
}

// change lets f edit the rows under the registry's lock, and writes them when f says so.
func (b *Broker) change(ctx context.Context, f func(rows []row) (changed []row, write bool, err error)) error {
	return b.locked(ctx, RegistryLock, func() error {
		before, err := b.readOrSetAside()
		if err != nil {
			return err
		}
		rows, write, err := f(slices.Clone(before))
		if err != nil || !write {
			return err
		}
		data := formatRegistry(rows)
		if len(data) > registryMax {
			rows = b.forget(rows, before, len(data))
			data = formatRegistry(rows)
		}
		// The original has written larger ones, which a sweep may make smaller step by step.
		if len(data) > registryMax && len(data) >= len(formatRegistry(before)) {
			return fmt.Errorf("write %s: %w: %d sessions take %d of %d bytes; c2c sweep drops the dead ones",
				registryFile, ErrRegistryFull, len(rows), len(data), registryMax)
		}
		return b.root.Replace(registryFile, data)
	})
}

// forget makes room in a registry of size bytes, of which it leaves three quarters: sessions go whose client
// is gone and for whom nothing waits, the longest unused first. As after a sweep, their facts stay for the
// case that they come back. Rows that differ from those before are what the caller wants to write.
func (b *Broker) forget(rows, before []row, size int) []row {
	used := map[string]time.Time{}
	for _, r := range rows {
		s := b.session(r)
		if s.State != Absent || s.Person || !slices.ContainsFunc(before, r.equal) || b.keepsMail(s.ID) {
			continue
		}
		used[s.ID] = b.lastUsed(r)
	}
	oldest := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return used[a].Compare(used[b]) })
	gone := map[string]bool{}
	for _, sid := range oldest {
		if size <= registryMax/4*3 {
			break
		}
		gone[sid] = true
		size -= len(rows[findSID(rows, sid)].appendJSON(nil)) + len(",\n")
	}
	if len(gone) > 0 {
		b.log.Info("registry was full", "forgotten", len(gone))
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return gone[r.sid()] })
}

// keepsMail says whether something waits for a session, or may.
func (b *Broker) keepsMail(sid string) bool {
	box, err := b.Mailbox(sid)
	if err != nil {
		return true
	}
	some, err := box.Waiting()
	return some || err != nil
}

type damagedError struct{ err error }

func (e *damagedError) Error() string { return e.err.Error() }

// parsed is the registry as it was read last: a send looks at it three times. A row is never edited in
// place, so it may be handed out again.
type parsed struct {
	mu   sync.Mutex
	file fs.FileInfo
	rows []row
}

func (b *Broker) readRegistry() ([]row, error) {
	f, err := b.root.Open(registryFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", registryFile, err)
	}
	c := &b.parsed
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil && os.SameFile(c.file, file) && c.file.ModTime().Equal(file.ModTime()) && c.file.Size() == file.Size() {
		return slices.Clone(c.rows), nil
	}
	data, err := atomicfile.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", registryFile, err)
	}
	rows, err := parseRegistry(data)
	if err != nil {
		return nil, &damagedError{err}
	}
	c.file, c.rows = file, rows
	return slices.Clone(rows), nil
}

// readOrSetAside is readRegistry for who holds the lock: a damaged file is moved out of the way, so
// that nobody overwrites it and the next caller can go on.
func (b *Broker) readOrSetAside() ([]row, error) {
	rows, err := b.readRegistry()
	var damaged *damagedError
	if !errors.As(err, &damaged) {
		return rows, err
	}
	aside := registryFile + ".corrupt-" + b.now().UTC().Format("20060102T150405.000000")
	if err := b.root.Rename(registryFile, aside); err != nil {
		return nil, err
	}
	b.log.Error("registry was damaged", "kept_as", aside)
	return nil, &CorruptError{File: registryFile, Aside: aside, Err: damaged.err}
}

// findSID gives the index of a session's row, or -1.
func findSID(rows []row, sid string) int {
	return slices.IndexFunc(rows, func(r row) bool { return r.sid() == sid })
}
