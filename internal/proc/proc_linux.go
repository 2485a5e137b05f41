package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
	for _, i := range []int{1, 2, 4, 5, 19} {
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return s, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
	}
	s = Stat{Parent: int(n[1]), Group: int(n[2]), Terminal: uint64(uint32(n[4])), Foreground: int(n[5]), Start: n[19]}
	if f[0] == "Z" || f[0] == "X" {
		err = ErrNone
	}
	return s, err
}

// Began returns when a process has started; the zero time if it has ended.
func Began(pid int) time.Time {
	var boot unix.Timespec
	st, err := Read(pid)
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return time.Time{}
	}
	const tick = time.Second / 100 // USER_HZ, on every Linux
	return time.Now().Add(time.Duration(st.Start)*tick - time.Duration(boot.Nano()))
}

// Sees reports whether c2c sees the processes of its own PID namespace: in a sandbox that has not
// mounted its own /proc, the ids there belong to other processes.
func Sees() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// All returns the ids of the visible processes.
func All() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Children returns the children of the first thread of a process.
func Children(pid int) (pids []int) {
	all, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for _, child := range strings.Fields(string(all)) {
		pid, _ := strconv.Atoi(child)
		pids = append(pids, pid)
	}
	return pids
}

// Owner returns the user of a process, and the kernel's name of its program. ok is false if the
// process has ended.
func Owner(pid int) (uid int, name string, ok bool) {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)) // /proc/<pid> itself belongs to root if the process hides its memory
	data, nerr := ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || nerr != nil {
		return 0, "", false
	}
	uid = int(info.Sys().(*syscall.Stat_t).Uid)
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, ":")
		switch f := strings.Fields(value); {
		case key == "Name":
			name = strings.TrimSpace(value)
		case key == "Uid" && len(f) > 0: // the real user id
			uid, _ = strconv.Atoi(f[0])
		}
	}
	return uid, name, true
}

// isOurs reports whether a process belongs to this user, and shows its memory. The check matters
// only for root, which can read the processes of all users.
func isOurs(pid int) bool {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

// Args returns the arguments of a process, the name of its program first; nil if it has ended.
func Args(pid int) []string { return words(pid, "cmdline") }

// Environ returns the variables with which a process was started; nil if it is not ours.
func Environ(pid int) []string { return words(pid, "environ") }

func words(pid int, file string) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// Folder returns the working directory of a process; "" if it is not ours.
func Folder(pid int) string {
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return dir
}

// Executable returns a path at which the program of a process can be opened and run, and the name of
// the program's file; "" if the process is not ours. The path leads to that program also if its file
// was replaced or removed.
func Executable(pid int) (path, name string) {
	path = fmt.Sprintf("/proc/%d/exe", pid)
	file, err := os.Readlink(path)
	if err != nil {
		return path, ""
	}
	return path, filepath.Base(strings.TrimSuffix(file, " (deleted)"))
}

// Files yields the open files of a process. If this user may not inspect the process, seen is false,
// and Files yields nothing.
func Files(pid int) (files iter.Seq[File], seen bool) {
	var entries []os.DirEntry
	dir, err := fmt.Sprintf("/proc/%d/fd/", pid), fs.ErrPermission
	if isOurs(pid) {
		entries, err = os.ReadDir(dir)
	}
	return func(yield func(File) bool) {
		for _, e := range entries {
			link := dir + e.Name()
			fd, _ := strconv.Atoi(e.Name())
			if path, err := os.Readlink(link); err == nil && !yield(File{fd, path, link}) {
				return
			}
		}
	}, err == nil
}

// tables yields the sockets of both tables, of IPv4 and IPv6, that have this local port.
func tables(dir string, port int) iter.Seq[TCPSocket] {
	return func(yield func(TCPSocket) bool) {
		for _, name := range []string{"tcp", "tcp6"} {
			table, err := os.Open(dir + "/net/" + name)
			if err != nil {
				continue
			}
			defer table.Close()
			for s := range TCPIn(table, port) {
				if !yield(s) {
					return
				}
			}
		}
	}
}
