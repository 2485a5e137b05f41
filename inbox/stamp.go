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
func (m *Mailbox) Stamp() (s Stamp, err error) {
	for _, name := range []string{m.inboxName(), m.LeaseName()} {
		info, err := m.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		s += Stamp(fmt.Sprintln(name, atomicfile.VersionOf(info)))
	}
	held, err := m.InHand()
	return s + Stamp(fmt.Sprint(held)), err
}

// InHand counts the messages that readers have in their hands. It takes no lock.
func (m *Mailbox) InHand() (count int, err error) {
	err = m.inLease(func(dir *atomicfile.Dir) error {
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
