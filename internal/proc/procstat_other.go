//go:build !linux

package proc

import (
	"iter"
	"os"
)

// Files yields nothing: this system does not show which files a process has open.
func Files(int) (files iter.Seq2[string, string], seen bool) {
	return func(func(string, string) bool) {}, false
}

// Listens returns true: on this system c2c cannot find out whether a process listens.
func Listens(int, int) bool { return true }

// Owner returns this user: on this system c2c cannot find out the user of a process.
func Owner(int) (uid int, name string, ok bool) { return os.Getuid(), "", true }

// Programs returns nothing: this system does not show processes to c2c.
func Programs(string) []Program { return nil }

// Terminals returns nothing: this system does not show processes to c2c.
func Terminals() []Terminal { return nil }
