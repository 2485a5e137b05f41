package sessions

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"c2c/client"
)

// System is the machine's process table, from sysctl.
type SystemProcesses struct{}

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

func (*SystemProcesses) Self() int { return os.Getpid() }

// Namespace returns a constant: all processes of the system share it.
func (*SystemProcesses) Namespace() string { return "macos" }

// Environ returns nil: the system does not show another program's variables.
func (*SystemProcesses) Environ(int) []string { return nil }

func (*SystemProcesses) Find(pid int) (Process, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	// For a missing process the kernel returns nothing, which the library reports as EIO.
	if err != nil && !errors.Is(err, unix.EIO) {
		return Process{}, err
	}
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return Process{}, ErrNoProcess
	}
	started := info.Proc.P_starttime
	return Process{
		PID:    pid,
		Parent: int(info.Eproc.Ppid),
		Start:  started.Sec*1e6 + int64(started.Usec),
	}, nil
}

func (*SystemProcesses) Opened(p client.Profile, pid int) (ids map[string]bool, known bool) {
	return p.Open(pid)
}
