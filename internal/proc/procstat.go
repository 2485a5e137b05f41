// Package proc reads what Linux says in /proc about processes: their state, owner, open files,
// sockets and terminals.
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrNone means that no process has this id, or that the process has ended and is a zombie.
var ErrNone = errors.New("no such process")

// Stat holds facts about a process. See proc(5).
type Stat struct {
	Parent, Group, Session int
	Terminal               uint64 // device number of the controlling terminal; 0: the process has none
	Foreground             int    // foreground process group of the controlling terminal
	Start                  int64  // when the process started, in clock ticks since boot
}

// Read reads /proc/<pid>/stat.
func Read(pid int) (Stat, error) {
	data, err := ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH): // ESRCH: the process ended between open and read
		return Stat{}, ErrNone
	case err != nil:
		return Stat{}, err
	}
	s, err := parse(pid, string(data))
	if errors.Is(err, ErrNone) && hasThreads(pid) {
		err = nil
	}
	return s, err
}

// ReadFile reads the first kilobyte of a file below /proc, which the kernel returns in one piece.
// os.ReadFile makes three times as many system calls, and a command may read such a file for each
// of its ancestors.
func ReadFile(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	data := make([]byte, 1024)
	n, err := syscall.Read(fd, data)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data[:n], nil
}

// hasThreads reports whether a process, whose first thread has ended, still has other threads. This
// is so for a moment when another thread calls execve, as Go programs do.
func hasThreads(pid int) bool {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return len(names) > 1
}

// parse reads the fields after the command's name, that is, after the last parenthesis: the name
// itself may have spaces and parentheses.
func parse(pid int, stat string) (s Stat, err error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return s, fmt.Errorf("read /proc/%d/stat: only %d fields", pid, len(f))
	}
	var n [20]int64
	for _, i := range []int{1, 2, 3, 4, 5, 19} {
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return s, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
	}
	s = Stat{Parent: int(n[1]), Group: int(n[2]), Session: int(n[3]), Terminal: uint64(uint32(n[4])), Foreground: int(n[5]), Start: n[19]}
	if f[0] == "Z" || f[0] == "X" {
		err = ErrNone
	}
	return s, err
}
