package proc

import (
	"fmt"
	"iter"
	"os"
)

// Files yields the open files of a process: for each the link in /proc and the path of the file. If
// this user may not inspect the process, seen is false, and Files yields nothing.
func Files(pid int) (files iter.Seq2[string, string], seen bool) {
	dir := fmt.Sprintf("/proc/%d", pid)
	if !isOurs(dir) {
		return func(func(string, string) bool) {}, false
	}
	dir += "/fd/"
	entries, err := os.ReadDir(dir)
	return func(yield func(link, path string) bool) {
		for _, e := range entries {
			link := dir + e.Name()
			if path, err := os.Readlink(link); err == nil && !yield(link, path) {
				return
			}
		}
	}, err == nil
}
