package broker

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"c2c/broker/client"
)

// system is the machine's process table, from sysctl.
type system struct{}

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

func (*system) self() int { return os.Getpid() }

// namespace is the same for all processes of the system.
func (*system) namespace() string { return "macos" }

// environ: the system tells no other program.
func (*system) environ(int) []string { return nil }

func (*system) find(pid int) (process, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	// The kernel answers with nothing, which the library reports as EIO, when there is no such process.
	if err != nil && !errors.Is(err, unix.EIO) {
		return process{}, err
	}
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return process{}, errNoProcess
	}
	started := info.Proc.P_starttime
	return process{
		pid:    pid,
		parent: int(info.Eproc.Ppid),
		start:  started.Sec*1e6 + int64(started.Usec),
	}, nil
}

func (*system) opened(p client.Profile, pid int) (ids map[string]bool, known bool) {
	return p.Open(pid)
}
