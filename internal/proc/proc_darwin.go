// This part asks macOS's kernel. It has no cgo: sysctl through golang.org/x/sys, and the system call
// behind libproc, proc_info, by its number. proc_linux.go says what each function returns.

package proc

import (
	"iter"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These do not compile if an offset in xnu.go is wrong.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(unix.KinfoProc{})-kinfoSize]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.KinfoProc{}.Proc.P_starttime)-kinfoStarted]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.KinfoProc{}.Proc.P_stat)-kinfoState]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.KinfoProc{}.Proc.P_pid)-kinfoPID]
	_ = [1]struct{}{}[unsafe.Offsetof(unix.KinfoProc{}.Proc.P_comm)-kinfoName]
	_ = [1]struct{}{}[eproc+unsafe.Offsetof(unix.Eproc{}.Pcred)+unsafe.Offsetof(unix.Pcred{}.P_ruid)-kinfoRealUser]
	_ = [1]struct{}{}[eproc+unsafe.Offsetof(unix.Eproc{}.Ppid)-kinfoParent]
	_ = [1]struct{}{}[eproc+unsafe.Offsetof(unix.Eproc{}.Pgid)-kinfoGroup]
	_ = [1]struct{}{}[eproc+unsafe.Offsetof(unix.Eproc{}.Tdev)-kinfoTerminal]
	_ = [1]struct{}{}[eproc+unsafe.Offsetof(unix.Eproc{}.Tpgid)-kinfoFront]
)

const eproc = unsafe.Offsetof(unix.KinfoProc{}.Eproc)

func Read(pid int) (Stat, error) {
	b, err := unix.SysctlRaw("kern.proc.pid", pid)
	if err != nil {
		return Stat{}, err
	}
	s, _, _, err := kinfo(b, pid)
	return s, err
}

// Owner returns at most 16 bytes of the name.
func Owner(pid int) (uid int, name string, ok bool) {
	b, err := unix.SysctlRaw("kern.proc.pid", pid)
	if err == nil {
		_, uid, name, err = kinfo(b, pid)
	}
	return uid, name, err == nil
}

func Began(pid int) time.Time {
	s, err := Read(pid)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(s.Start)
}

// Sees returns true: all processes of the system share their ids.
func Sees() bool { return true }

func All() []int { return pids(func(unix.KinfoProc) bool { return true }) }

func Children(pid int) []int {
	return pids(func(p unix.KinfoProc) bool { return int(p.Eproc.Ppid) == pid })
}

func pids(match func(unix.KinfoProc) bool) (pids []int) {
	all, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	for _, p := range all {
		if match(p) {
			pids = append(pids, int(p.Proc.P_pid))
		}
	}
	return pids
}

func isOurs(pid int) bool {
	uid, _, ok := Owner(pid)
	return ok && uid == os.Getuid()
}

func Args(pid int) []string {
	b, _ := unix.SysctlRaw("kern.procargs2", pid)
	_, args, _ := arguments(b)
	return args
}

// Environ returns nil also for programs of Apple's.
func Environ(pid int) []string {
	b, _ := unix.SysctlRaw("kern.procargs2", pid)
	_, _, env := arguments(b)
	return env
}

// Executable returns the path at which the program was when the process started.
func Executable(pid int) (path, name string) {
	b, _ := unix.SysctlRaw("kern.procargs2", pid)
	path, _, _ = arguments(b)
	return path, filepath.Base(path)
}

// What proc_info is asked for; see <sys/proc_info.h>.
const (
	ofProcess   = 2 // PROC_INFO_CALL_PIDINFO
	ofFile      = 3 // PROC_INFO_CALL_PIDFDINFO
	listFiles   = 1 // PROC_PIDLISTFDS
	folders     = 9 // PROC_PIDVNODEPATHINFO
	fileAndPath = 2 // PROC_PIDFDVNODEPATHINFO
	fileSocket  = 3 // PROC_PIDFDSOCKETINFO
)

func Folder(pid int) string {
	b := make([]byte, foldersSize)
	return pathAt(b[:info(ofProcess, pid, folders, 0, b)], foldersSize, folderPath)
}

func Files(pid int) (files iter.Seq[File], seen bool) {
	fds, seen := open(pid)
	return func(yield func(File) bool) {
		for fd, kind := range fds {
			path := ""
			if b := make([]byte, filePathSize); kind == fdVnode {
				path = pathAt(b[:info(ofFile, pid, fileAndPath, fd, b)], filePathSize, filePath)
			} else if s, ok := socketAt(pid, fd, kind); ok {
				path = s.Link()
			}
			if path != "" && !yield(File{fd, path, path}) {
				return
			}
		}
	}, seen
}

// TCPSockets yields the sockets of this user's processes that have this local port.
func TCPSockets(_, port int) iter.Seq[TCPSocket] {
	return func(yield func(TCPSocket) bool) {
		for _, pid := range All() {
			fds, _ := open(pid)
			for fd, kind := range fds {
				if s, ok := socketAt(pid, fd, kind); ok && s.isAt(port) && !yield(s) {
					return
				}
			}
		}
	}
}

func socketAt(pid, fd, kind int) (s TCPSocket, ok bool) {
	if kind != fdSocket {
		return s, false
	}
	b := make([]byte, socketSize)
	return socket(b[:info(ofFile, pid, fileSocket, fd, b)], os.Getuid())
}

// open returns the open descriptors of a process, and their kinds.
func open(pid int) (fds iter.Seq2[int, int], seen bool) {
	b, n := make([]byte, 64<<10), 0
	if isOurs(pid) {
		n = info(ofProcess, pid, listFiles, 0, b)
	}
	return descriptors(b[:n]), n > 0
}

// info returns how many bytes of b the kernel has filled: 0 after an error.
func info(call, pid, flavor, arg int, b []byte) int {
	n, _, err := unix.Syscall6(unix.SYS_PROC_INFO, uintptr(call), uintptr(pid), uintptr(flavor), uintptr(arg), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if err != 0 {
		return 0
	}
	return min(int(n), len(b))
}

func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}
