//go:build !linux

package procstat

import (
	"iter"
	"os"
)

// Files yields nothing: this system does not show which files a process has open.
func Files(int) (files iter.Seq2[string, string], seen bool) {
	return func(func(string, string) bool) {}, false
}

// Listens returns true: c2c cannot find out on this system.
func Listens(int, int) bool { return true }

// Owner returns this user: c2c cannot find out on this system.
func Owner(int) (uid int, name string, ok bool) { return os.Getuid(), "", true }

// HasTerminal returns true: c2c cannot find out on this system.
func HasTerminal(int, int) bool { return true }

// Programs returns nothing: this system does not show them.
func Programs(string) []Program { return nil }

// Terminals returns nothing: this system does not show them.
func Terminals() []Terminal { return nil }
