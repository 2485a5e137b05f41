package inbox

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"c2c/inbox/atomicfile"
)

// Stamp is another one whenever what waits has changed. It tells a watcher a
// change from its own look, which locks the mailbox as a writer does.
type Stamp struct {
	inbox, lease fileStamp
	held         int // files in the hands of readers
}

type fileStamp struct {
	ino   uint64
	size  int64
	mtime time.Time
}

// Stamp takes no lock and reads no mail.
func (m *Mailbox) Stamp() (s Stamp, err error) {
	if s.inbox, err = m.stamp(m.inboxName()); err != nil {
		return s, err
	}
	if s.lease, err = m.stamp(m.LeaseName()); err != nil {
		return s, err
	}
	err = m.inLease(func(dir *atomicfile.Dir) error {
		cs, err := mailFiles(dir)
		for _, c := range cs {
			if c.by == "" || c.done || err != nil {
				continue // in nobody's hands
			}
			var free bool
			if free, err = c.free(dir); !free {
				s.held++
			}
		}
		return err
	})
	return s, err
}

func (m *Mailbox) stamp(name string) (s fileStamp, err error) {
	info, err := m.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	return fileStamp{info.Sys().(*syscall.Stat_t).Ino, info.Size(), info.ModTime()}, nil
}
