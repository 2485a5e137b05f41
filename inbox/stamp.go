package inbox

import (
	"errors"
	"io/fs"
	"syscall"
	"time"
)

// Stamp is another one whenever what waits has changed. It tells a watcher a
// change from its own look, which locks the mailbox as a writer does.
type Stamp struct{ inbox, lease fileStamp }

type fileStamp struct {
	ino   uint64
	size  int64
	mtime time.Time
}

// Stamp takes no lock and reads no mail.
func (m *Mailbox) Stamp() (s Stamp, err error) {
	for name, to := range map[string]*fileStamp{m.inboxName(): &s.inbox, m.leaseName(): &s.lease} {
		if *to, err = m.stamp(name); err != nil {
			return Stamp{}, err
		}
	}
	return s, nil
}

func (m *Mailbox) stamp(name string) (s fileStamp, err error) {
	info, err := m.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ino = st.Ino
	}
	return fileStamp{s.ino, info.Size(), info.ModTime()}, nil
}
