// Package proc finds the machine's processes: their parents, users, arguments, open files, sockets
// and terminals. Each system has a file with the functions that ask its kernel; the others are made
// from these.
package proc

import (
	"cmp"
	"errors"
	"os"
	"strings"
)

// ErrNone means that no process has this id, or that the process has ended and is a zombie.
var ErrNone = errors.New("no such process")

// Stat holds facts about a process.
type Stat struct {
	Parent, Group int
	Terminal      uint64 // device number of the controlling terminal; 0: the process has none
	Foreground    int    // foreground process group of the controlling terminal
	Start         int64  // when the process started: Linux: clock ticks since boot; macOS: microseconds since 1970
}

// File is an open file of a process.
type File struct {
	FD   int
	Path string // of a socket: see TCPSocket.Link
	Link string // where to look at the file: for Linux it leads there also if the file was renamed
}

// IsTerminal reports whether the file is a terminal.
func (f File) IsTerminal() bool {
	return strings.HasPrefix(f.Path, "/dev/pts/") || strings.HasPrefix(f.Path, "/dev/tty")
}

// Program is a process with its program, arguments and environment.
type Program struct {
	PID, Parent int
	Args, Env   []string
	File        os.FileInfo // the program's file; it may have been renamed or removed since the start
}

// Programs returns the visible processes of this user whose program has this name.
func Programs(name string) (all []Program) {
	for _, pid := range All() {
		path, is := Executable(pid)
		if is != name {
			continue
		}
		file, err := os.Stat(path)
		stat, serr := Read(pid)
		args, env := Args(pid), Environ(pid)
		if cmp.Or(err, serr) == nil && args != nil && env != nil { // otherwise the process has just ended, or is not ours
			all = append(all, Program{PID: pid, Parent: stat.Parent, File: file, Args: args, Env: env})
		}
	}
	return all
}

// Terminal is a process that has a terminal.
type Terminal struct {
	PID, Parent int
	Args, Env   []string // at least one element
	Folder      string
}

// Terminals returns the visible processes of this user that have a terminal, but none from another
// PID namespace such as that of a sandbox: a session there has its process under another id.
func Terminals() (all []Terminal) {
	here := Namespace(0)
	for _, pid := range All() {
		if Namespace(pid) != here || !isOurs(pid) {
			continue
		}
		stat, err := Read(pid)
		if err != nil || stat.Terminal == 0 {
			continue
		}
		folder, args, env := Folder(pid), Args(pid), Environ(pid)
		if folder != "" && args != nil && env != nil {
			all = append(all, Terminal{pid, stat.Parent, args, env, folder})
		}
	}
	return all
}
