package proc

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// TCPSocket is a line of /proc/net/tcp or tcp6, see proc(5), or the same of macOS.
type TCPSocket struct {
	Local, Remote string // address and port, in hex digits
	State         string // Listening, for example
	UID           int
	Inode         string // NoInode: the program has closed the socket, and UID is 0
}

// Fields of a TCPSocket.
const (
	Listening = "0A"
	NoInode   = "0"
)

// isAt reports whether the socket has this local port.
func (s TCPSocket) isAt(port int) bool { return strings.HasSuffix(s.Local, end(port)) }

func end(port int) string { return fmt.Sprintf(":%04X", port) }

// Link returns the socket's name as the path of an open file.
func (s TCPSocket) Link() string { return "socket:[" + s.Inode + "]" }

// Listens reports whether a process listens on a TCP port. It cannot inspect a process of another
// user, and then returns false.
func Listens(pid, port int) bool {
	listening := map[string]bool{}
	for s := range TCPSockets(pid, port) {
		listening[s.Link()] = s.State == Listening
	}
	files, _ := Files(pid)
	for f := range files {
		if listening[f.Path] {
			return true
		}
	}
	return false
}

// TCPIn yields the lines of a table that have this local port. It reads the table only until the
// caller has what it looks for, because a table of very many connections has megabytes.
func TCPIn(table io.Reader, port int) iter.Seq[TCPSocket] {
	return func(yield func(TCPSocket) bool) {
		suffix := end(port)
		for lines := bufio.NewScanner(table); lines.Scan(); {
			line := lines.Text()
			if !strings.Contains(line, suffix) { // most lines have another port
				continue
			}
			f := strings.Fields(line)
			if len(f) < 10 || !strings.HasSuffix(f[1], suffix) {
				continue
			}
			if uid, err := strconv.Atoi(f[7]); err == nil && !yield(TCPSocket{f[1], f[2], f[3], uid, f[9]}) {
				return
			}
		}
	}
}
