//go:build !linux || portable

package inotify

import "errors"

// Watch has no use on this system: Open returns nil.
type Watch struct{}

// Open returns nil: this system cannot report closed files.
func Open(func(id int, name string)) *Watch { return nil }

// Add returns errors.ErrUnsupported.
func (*Watch) Add(string) (id int, err error) { return 0, errors.ErrUnsupported }

// AddRenamed returns errors.ErrUnsupported.
func (*Watch) AddRenamed(string) (id int, err error) { return 0, errors.ErrUnsupported }

// Take does nothing.
func (*Watch) Take() {}

// Close does nothing.
func (*Watch) Close() {}
