package broker

import (
	"errors"
	"os"
	"strconv"
	"sync"

	"c2c/broker/procstat"
)

// system is the machine's process table, from /proc.
type system struct {
	once sync.Once
	name string
}

func (*system) self() int { return os.Getpid() }

// namespace is the inode of our PID namespace. "" means that /proc shows another one's processes, as it does
// in a sandbox that has not mounted its own.
func (s *system) namespace() string {
	s.once.Do(func() {
		self, err := os.Readlink("/proc/self")
		if err != nil || self != strconv.Itoa(os.Getpid()) {
			return
		}
		if s.name, err = os.Readlink("/proc/self/ns/pid"); err != nil {
			s.name = "pid" // a kernel without namespaces
		}
	})
	return s.name
}

func (s *system) find(pid int) (process, error) {
	if s.namespace() == "" {
		return process{}, errHidden
	}
	st, err := procstat.Read(pid)
	switch {
	case errors.Is(err, procstat.ErrNone):
		return process{}, errNoProcess
	case err != nil:
		return process{}, err
	}
	return process{pid: pid, parent: st.Parent, start: st.Start}, nil
}
