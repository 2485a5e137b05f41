// This part reads the answers of macOS's kernel (xnu). It is built and tested on every system; only
// the calls themselves, in proc_darwin.go, are for macOS alone.

package proc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Offsets in struct kinfo_proc of <sys/sysctl.h>. proc_darwin.go compares them with those of
// golang.org/x/sys when it is compiled.
const (
	kinfoSize     = 648
	kinfoStarted  = 0 // struct timeval: seconds (8 bytes), microseconds (4)
	kinfoState    = 36
	kinfoPID      = 40
	kinfoName     = 243 // 17 bytes
	kinfoRealUser = 392
	kinfoParent   = 560
	kinfoGroup    = 564
	kinfoTerminal = 572
	kinfoFront    = 576
	stateZombie   = 5  // SZOMB
	noTerminal    = -1 // NODEV
)

// kinfo reads the answer of sysctl to kern.proc.pid: nothing if no process has this id.
func kinfo(b []byte, pid int) (s Stat, uid int, name string, err error) {
	at := func(offset int) int { return int(int32(binary.LittleEndian.Uint32(b[offset:]))) }
	if len(b) < kinfoSize || at(kinfoPID) != pid || b[kinfoState] == stateZombie {
		return s, 0, "", ErrNone
	}
	s = Stat{Parent: at(kinfoParent), Group: at(kinfoGroup), Foreground: at(kinfoFront),
		Start: int64(binary.LittleEndian.Uint64(b[kinfoStarted:]))*1e6 + int64(at(kinfoStarted+8))}
	if terminal := at(kinfoTerminal); terminal != noTerminal {
		s.Terminal = uint64(uint32(terminal))
	}
	return s, at(kinfoRealUser), text(b[kinfoName : kinfoName+17]), nil
}

// arguments reads the answer of sysctl to kern.procargs2: the number of arguments (4 bytes), the path
// of the program, zero bytes, the arguments, the variables and words for the loader, each with a zero
// byte after it. For a program of Apple's the kernel leaves out all behind the arguments.
func arguments(b []byte) (path string, args, env []string) {
	if len(b) < 4 {
		return "", nil, nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	path, rest, _ := strings.Cut(string(b[4:]), "\x00")
	for rest = strings.TrimLeft(rest, "\x00"); rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, "\x00")
		switch {
		case len(args) < n:
			args = append(args, word)
		case word == "":
			return path, args, env
		default:
			env = append(env, word)
		}
	}
	return path, args, env
}

// Sizes and offsets in the answers of proc_info, from <sys/proc_info.h>. A path has 1024 bytes.
const (
	fdSize       = 8    // struct proc_fdinfo: number, kind
	fdVnode      = 1    // PROX_FDTYPE_VNODE
	fdSocket     = 2    // PROX_FDTYPE_SOCKET
	foldersSize  = 2352 // struct proc_vnodepathinfo
	folderPath   = 152
	filePathSize = 1200 // struct vnode_fdinfowithpath
	filePath     = 176
	socketSize   = 792 // struct socket_fdinfo
	socketID     = 160 // of the socket, which several descriptors may share
	socketKind   = 256
	socketRemote = 264 // the port; and after it the local one
	socketFlags  = 288
	socketAddr   = 296 // the remote one, 16 bytes; after it the local one. An IPv4 address has the last 4
	socketState  = 344
	kindTCP      = 2 // SOCKINFO_TCP
	isIPv4       = 1 // INI_IPV4
	stateListen  = 1 // TSI_S_LISTEN
)

// descriptors yields the number and the kind of each open descriptor in a list of a process's.
func descriptors(b []byte) iter.Seq2[int, int] {
	return func(yield func(fd, kind int) bool) {
		for ; len(b) >= fdSize; b = b[fdSize:] {
			if !yield(int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))) {
				return
			}
		}
	}
}

// socket reads what the kernel tells of a socket, and writes it as Linux does. ok is false if it is
// no TCP socket.
func socket(b []byte, uid int) (s TCPSocket, ok bool) {
	if len(b) < socketSize || b[socketKind] != kindTCP {
		return s, false
	}
	end := func(port, addr []byte) string {
		text := ""
		if b[socketFlags]&isIPv4 != 0 {
			addr = addr[12:]
		}
		for ; len(addr) > 0; addr = addr[4:] {
			text += fmt.Sprintf("%08X", binary.LittleEndian.Uint32(addr))
		}
		return fmt.Sprintf("%s:%04X", text, binary.BigEndian.Uint16(port))
	}
	s = TCPSocket{end(b[socketRemote+4:], b[socketAddr+16:socketAddr+32]), end(b[socketRemote:], b[socketAddr:socketAddr+16]), "01", uid,
		strconv.FormatUint(binary.LittleEndian.Uint64(b[socketID:]), 10)}
	if b[socketState] == stateListen {
		s.State = Listening
	}
	return s, true
}

// pathAt returns the path at an offset of an answer that must have this size.
func pathAt(b []byte, size, offset int) string {
	if len(b) < size {
		return ""
	}
	return text(b[offset : offset+1024])
}

func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
