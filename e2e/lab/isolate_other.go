//go:build !linux

package lab

import "errors"

// Isolate returns an error: it needs namespaces, which only Linux has.
func Isolate(...string) (int, bool, error) {
	return 1, false, errors.New("the real-client tests run on Linux only")
}

// Stop needs the process descriptors of Linux.
func Stop(int) error { return errors.ErrUnsupported }
