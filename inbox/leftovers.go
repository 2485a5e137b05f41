package inbox

import (
	"c2c/internal/atomicfile"
)

// removeLeftovers removes files that dead processes left half-written or queued, and returns the
// mail files. The caller holds the lock.
func removeLeftovers(dir *atomicfile.Dir) ([]*mailFile, error) {
	names, err := dir.Names()
	for _, name := range names {
		if f := openQueued(dir, name); f != nil {
			f.Close()
		}
		if _, ok := parseMailFile(name); ok || !atomicfile.IsTemp(name) {
			continue
		}
		if info, serr := dir.Stat(name); serr == nil && info.Mode().IsRegular() {
			dir.Remove(name) // if this fails, the next delivery tries again
		}
	}
	return mailFilesOf(dir, names), err
}
