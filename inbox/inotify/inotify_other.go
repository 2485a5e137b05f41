//go:build !linux

package inotify

import "errors"

// Watch is never made here.
type Watch struct{}

// Open returns nil: the system has nothing that tells of a closed file.
func Open(func(id int, name string)) *Watch { return nil }

// Add fails.
func (*Watch) Add(string) (id int, err error) { return 0, errors.ErrUnsupported }

// AddTimes fails.
func (*Watch) AddTimes(string) (id int, err error) { return 0, errors.ErrUnsupported }

// Take has nothing to tell.
func (*Watch) Take() {}

// Close has nothing to end.
func (*Watch) Close() {}
