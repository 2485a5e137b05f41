// This part keeps a short list in a JSON file. A lock file lets only one process at a time change
// the list.

package atomicfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// RecordsLog takes the reports of damaged files.
type RecordsLog interface {
	Error(text string, args ...any)
}

// RecordsFile is a file with a list. The file exists only while the list has an entry, so a check
// of an empty list costs one system call.
type RecordsFile[T comparable] struct {
	Dir  *Dir
	Name string
	Lock string // the name of the lock file
	Now  func() time.Time
	Log  RecordsLog
}

// Read returns the list. It does not take the lock.
func (f RecordsFile[T]) Read() (all []T, err error) {
	data, err := f.Dir.ReadIf(f.Name)
	if err == nil && data != nil {
		if err = json.Unmarshal(data, &all); err != nil {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(f.Dir.Path(), f.Name), err)
	}
	return all, nil
}

// Change calls edit with the list, and stores the list that edit returns. edit may change the
// entries that it gets. If the file is damaged, Change renames it, and edit gets an empty list.
func (f RecordsFile[T]) Change(ctx context.Context, edit func([]T) ([]T, error)) error {
	return WithLock(ctx, f.Dir, f.Lock, func() error {
		before, err := f.Read()
		if errors.Is(err, errDamaged) {
			err = f.setAside(err)
		}
		if err != nil {
			return err
		}
		after, err := edit(slices.Clone(before))
		switch {
		case err != nil || slices.Equal(before, after):
			return err
		case len(after) == 0:
			return f.Dir.Remove(f.Name)
		}
		data, err := json.MarshalIndent(after, "", "  ")
		if err != nil {
			return err
		}
		return f.Dir.Replace(f.Name, append(data, '\n'))
	})
}

// ChangeSeldom is Change for an edit that usually changes nothing. It takes the lock only if edit
// has changed the list, and then calls edit once more, with the list as it is then. If the list is
// empty, ChangeSeldom does nothing.
func (f RecordsFile[T]) ChangeSeldom(ctx context.Context, edit func([]T) ([]T, error)) error {
	before, err := f.Read()
	if err == nil && len(before) == 0 {
		return nil
	}
	if err == nil {
		after, err := edit(slices.Clone(before))
		if err != nil || slices.Equal(before, after) {
			return err
		}
	}
	return f.Change(ctx, edit) // sets a damaged file aside
}

// errDamaged means that the file could be read, but does not contain a list of this kind.
var errDamaged = errors.New("damaged")

func (f RecordsFile[T]) setAside(damage error) error {
	aside := fmt.Sprintf("%s.corrupt-%d", f.Name, f.Now().UnixMicro())
	f.Log.Error("a damaged file was set aside; its entries are lost", "kept_as", aside, "err", damage)
	return f.Dir.Rename(f.Name, aside)
}
