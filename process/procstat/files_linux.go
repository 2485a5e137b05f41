package procstat

import (
	"fmt"
	"iter"
	"os"
)

// Files yields the open files of a process of this user, each as its link in /proc and its path. If the process may not
// be inspected, seen is false, and there are none.
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
