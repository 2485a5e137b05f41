//go:build !linux

package procstat

import (
	"iter"
	"os"
)

// Files gives none: this system does not tell which files a process has open.
func Files(int) (files iter.Seq2[string, string], seen bool) {
	return func(func(string, string) bool) {}, false
}

// Listens is true: it cannot be found out here.
func Listens(int, int) bool { return true }

// Owner says that a process is this user's: it is not found out here.
func Owner(int) (uid int, name string, ok bool) { return os.Getuid(), "", true }

// HasTerminal is true: it cannot be found out here.
func HasTerminal(int, int) bool { return true }

// Programs lists nothing: the system does not tell.
func Programs(string) []Program { return nil }

// Terminals lists nothing: the system does not tell.
func Terminals() []Terminal { return nil }
