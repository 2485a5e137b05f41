package inbox

import (
	"os"
	"strconv"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// removeLeftovers removes files that dead processes left half-written or queued, and returns the mail files. The caller holds the
// lock.
func removeLeftovers(dir *atomicfile.Dir) ([]*mailFile, error) {
	names, err := dir.Names()
	for i, name := range names {
		if f := openQueued(dir, name); f != nil {
			f.Close()
		}
		names[i] = takeOldLease(dir, name)
		if _, ok := parseMailFile(name); ok || !atomicfile.IsTemp(name) {
			continue
		}
		if info, serr := dir.Stat(name); serr == nil && info.Mode().IsRegular() {
			dir.Remove(name) // if this fails, the next delivery tries again
		}
	}
	return mailFilesOf(dir, names), err
}

// takeOldLease renames a file that a dead reader of the old version left (spill.go) to a name of ours. It returns the new name, or
// name itself if it did not rename the file.
func takeOldLease(dir *atomicfile.Dir, name string) string {
	stem, ok := strings.CutSuffix(name, ".jsonl")
	if !ok {
		return name
	}
	f, err := dir.Open(name, os.O_RDWR)
	if err != nil {
		return name
	}
	defer f.Close()
	free, err := filelock.TryFile(f)
	info, serr := f.Stat()
	if err != nil || serr != nil || !free {
		return name
	}
	next, ok := oldLeaseName(stem, info.Size())
	if !ok || dir.Rename(name, next) != nil { // it is gone if its reader has acked it just now
		return name
	}
	return next
}

// oldLeaseName returns our name for a file of so many bytes that the old version named <stem>.jsonl.
func oldLeaseName(stem string, bytes int64) (name string, ok bool) {
	rest, done := strings.CutPrefix(stem, donePrefix)
	part := strings.SplitN(rest, "-", 6)
	if len(part) != 6 {
		return "", false
	}
	name = strings.Join([]string{part[0], part[1], strconv.FormatInt(bytes, 10), part[2], part[3], part[5] + ".json"}, "-")
	if done {
		name = donePrefix + name
	}
	_, ok = parseMailFile(name)
	return name, ok
}
