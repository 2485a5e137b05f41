package sessions

import (
	"errors"
	"os"
	"sync"

	"c2c/client"
	"c2c/internal/proc"
)

// SystemProcesses is the machine's process table.
type SystemProcesses struct {
	once sync.Once
	name string

	look sync.Once
	ours bool
}

// sees reports whether the system shows the processes of our own PID namespace.
func (s *SystemProcesses) sees() bool {
	s.look.Do(func() { s.ours = proc.Sees() })
	return s.ours
}

func (*SystemProcesses) Self() int { return os.Getpid() }

// Namespace identifies our PID namespace; see namespace. It returns "" if it is not known, or if the
// system shows the processes of another namespace, as in a sandbox that has not mounted its own
// /proc.
func (s *SystemProcesses) Namespace() string {
	s.once.Do(func() {
		if s.sees() {
			s.name = namespace()
		}
	})
	return s.name
}

func (*SystemProcesses) Environ(pid int) []string { return proc.Environ(pid) }

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
