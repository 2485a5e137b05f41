package procstat

import (
	"fmt"
	"iter"
	"os"
)

// Files gives the open files of a process of this user, each by its link in /proc and its path. There are none for a
// process that cannot be looked at; seen is false then.
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
