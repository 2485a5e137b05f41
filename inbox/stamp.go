package inbox

import (
	"errors"
	"fmt"
	"io/fs"

	"c2c/inbox/atomicfile"
)

// Stamp changes whenever the waiting mail changes. A watcher compares stamps, because its own look closes the lock file as a
// writer does.
type Stamp string

// Stamp takes no lock and reads no mail.
func (r *row) Stamp() (s Stamp, err error) {
	for _, name := range []string{r.inboxName(), r.LeaseName()} {
		info, err := r.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		s += Stamp(fmt.Sprintln(name, atomicfile.VersionOf(info)))
	}
	held, err := r.InHand()
	return s + Stamp(fmt.Sprint(held)), err
}

// InHand counts the messages that readers have in their hands. It takes no lock.
func (r *row) InHand() (count int, err error) {
	err = r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		for _, mf := range files {
			if mf.by == "" || mf.done || err != nil {
				continue // in nobody's hands
			}
			var free bool
			if free, err = mf.free(dir); err == nil && !free {
				count += mf.count
			}
		}
		return err
	})
	return count, err
}
