package mux

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"c2c/wake"
)

// process is what the kernel says of one.
type process struct {
	parent, group, session int
	tty                    uint64 // its controlling terminal's device number
	foreground             int    // that terminal's foreground process group
}

func lookAt(pid int) (process, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, fmt.Errorf("%w: process %d is gone: %v", wake.ErrUnreachable, pid, err)
	}
	// The name before the last bracket may hold anything.
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var n [8]int
	for i := 1; i < len(n) && i < len(f); i++ {
		if n[i], err = strconv.Atoi(f[i]); err != nil {
			return process{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
	}
	if len(f) < 6 || n[4] == 0 {
		return process{}, fmt.Errorf("%w: process %d has no terminal", wake.ErrUnreachable, pid)
	}
	return process{parent: n[1], group: n[2], session: n[3], tty: uint64(uint32(n[4])), foreground: n[5]}, nil
}

// foreground fails unless the client is what a key on its terminal would reach: a command that it runs
// there, an editor say, is not typed into. It returns when the client has read from the terminal last, at
// the latest. A command in the client's own process group is not seen here, only on the screen.
func foreground(p process) (read time.Time, err error) {
	if p.group != p.foreground {
		return read, errors.New("another program has its terminal")
	}
	path := fmt.Sprintf("/dev/pts/%d", unix.Minor(p.tty))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return read, fmt.Errorf("open its terminal: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Rdev != p.tty {
		return read, fmt.Errorf("%s is not its terminal", path)
	}
	mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return read, fmt.Errorf("ask for the mode of its terminal: %w", err)
	}
	if mode.Lflag&unix.ICANON != 0 {
		return read, errors.New("it does not read single keys")
	}
	// The kernel keeps this time in steps of eight seconds, so that it does not tell the length of a
	// password (tty_update_time): it is that of the first read in its step.
	sec, _ := st.Atim.Unix()
	return time.Unix(sec&^7+8, 0), nil
}

// device is the number of a terminal that is named by its path.
func device(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%w: no terminal at %.100q", wake.ErrUnreachable, path)
	}
	return st.Rdev, nil
}

// started has the environment that a process was started with, as far as it is one of ours.
func started(pid int) (func(key string) string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, fmt.Errorf("%w: what process %d was started with: %v", wake.ErrUnreachable, pid, err)
	}
	return func(key string) string {
		for entry := range strings.SplitSeq(string(data), "\x00") {
			if value, ok := strings.CutPrefix(entry, key+"="); ok {
				return value
			}
		}
		return ""
	}, nil
}
