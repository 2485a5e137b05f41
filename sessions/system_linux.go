package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"c2c/client"
	"c2c/internal/proc"
)

// System is the machine's process table, from /proc.
type SystemProcesses struct {
	once sync.Once
	name string

	look sync.Once
	ours bool
}

// sees reports whether /proc shows the processes of our own PID namespace.
func (s *SystemProcesses) sees() bool {
	s.look.Do(func() {
		self, err := os.Readlink("/proc/self")
		s.ours = err == nil && self == strconv.Itoa(os.Getpid())
	})
	return s.ours
}

func (*SystemProcesses) Self() int { return os.Getpid() }

// Namespace identifies our PID namespace: by its inode, the id of the boot, and the id of the
// machine if there is one. It returns "" if they are not known, or if /proc shows the processes of
// another namespace, as in a sandbox that has not mounted its own /proc.
func (s *SystemProcesses) Namespace() string {
	s.once.Do(func() {
		if !s.sees() {
			return
		}
		inode, err := os.Readlink("/proc/self/ns/pid")
		if errors.Is(err, fs.ErrNotExist) {
			inode, err = "pid", nil // a kernel without namespaces
		}
		boot, berr := proc.ReadFile("/proc/sys/kernel/random/boot_id")
		if err != nil || berr != nil && !errors.Is(berr, fs.ErrNotExist) {
			return
		}
		machine, _ := proc.ReadFile("/etc/machine-id")
		s.name = strings.Join(strings.Fields(inode+" "+string(boot)+" "+string(machine)), " ")
	})
	return s.name
}

func (*SystemProcesses) Environ(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(string(data), "\x00")
}

func (s *SystemProcesses) Find(pid int) (Process, error) {
	if !s.sees() {
		return Process{}, errors.New("the processes of this PID namespace cannot be seen")
	}
	st, err := proc.Read(pid)
	switch {
	case errors.Is(err, proc.ErrNone):
		return Process{}, ErrNoProcess
	case err != nil:
		return Process{}, err
	}
	return Process{PID: pid, Parent: st.Parent, Start: st.Start}, nil
}

func (*SystemProcesses) Opened(p client.Profile, pid int) (ids map[string]bool, known bool) {
	return p.Open(pid)
}
