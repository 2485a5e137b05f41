package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"c2c/broker/client"
	"c2c/broker/procstat"
)

// system is the machine's process table, from /proc.
type system struct {
	once sync.Once
	name string

	look sync.Once
	ours bool
}

// sees says whether /proc shows the processes of our own PID namespace.
func (s *system) sees() bool {
	s.look.Do(func() {
		self, err := os.Readlink("/proc/self")
		s.ours = err == nil && self == strconv.Itoa(os.Getpid())
	})
	return s.ours
}

func (*system) self() int { return os.Getpid() }

// namespace is the inode of our PID namespace, the boot, and the machine where it has an id. "" means that
// nothing is known, or that /proc shows another namespace's processes, as it does in a sandbox that has not
// mounted its own.
func (s *system) namespace() string {
	s.once.Do(func() {
		if !s.sees() {
			return
		}
		inode, err := os.Readlink("/proc/self/ns/pid")
		if errors.Is(err, fs.ErrNotExist) {
			inode, err = "pid", nil // a kernel without namespaces
		}
		boot, berr := procstat.ReadFile("/proc/sys/kernel/random/boot_id")
		if err != nil || berr != nil && !errors.Is(berr, fs.ErrNotExist) {
			return
		}
		machine, _ := procstat.ReadFile("/etc/machine-id")
		s.name = strings.Join(strings.Fields(inode+" "+string(boot)+" "+string(machine)), " ")
	})
	return s.name
}

func (*system) environ(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(string(data), "\x00")
}

func (s *system) find(pid int) (process, error) {
	if !s.sees() {
		return process{}, errors.New("the processes of this PID namespace cannot be seen")
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

func (*system) opened(p client.Profile, pid int) (ids map[string]bool, known bool) {
	return p.Open(pid)
}
