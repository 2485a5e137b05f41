// This part finds the process and the user at one end of a TCP connection. It is not in
// internal/proc, because the program c2c links that package and would pay for these imports at every
// start.

package serve

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"strconv"
	"strings"

	"c2c/internal/proc"
)

// connOwner returns the process that holds one end of a TCP connection on this machine. The
// argument local is the address of that end, remote the address of the other end. If a process
// shares the socket with its children, connOwner returns the parent. It returns 0 if the process
// belongs to another user or PID namespace, if the connection is not visible, or if that end was
// closed.
func connOwner(local, remote netip.AddrPort) (pid int) {
	s, ok := find(local, remote)
	if !ok || s.Inode == proc.NoInode {
		return 0
	}
	for _, pid := range proc.All() {
		if !holds(pid, s.Link()) {
			continue
		}
		if pid, ok := eldest(pid, s.Link()); ok {
			return pid
		}
	}
	return 0
}

func holds(pid int, socket string) bool {
	files, _ := proc.Files(pid)
	for f := range files {
		if f.Path == socket {
			return true
		}
	}
	return false
}

// eldest follows the parents of the process pid as long as they have the socket open, and returns
// the last one. Between fork and exec, a child has its parent's sockets. ok is false if one of
// these processes has ended.
func eldest(pid int, socket string) (_ int, ok bool) {
	for {
		p, err := proc.Read(pid)
		if err != nil {
			return 0, false
		}
		if !holds(p.Parent, socket) {
			return pid, true
		}
		pid = p.Parent
	}
}

// connUser returns the user of one end of a TCP connection; for the arguments see connOwner. It
// inspects no process. ok is false if that end is not visible. closed means that the program has
// closed that end, so that the kernel no longer shows its user.
func connUser(local, remote netip.AddrPort) (uid int, ok, closed bool) {
	s, ok := find(local, remote)
	if s.Inode == proc.NoInode {
		return 0, false, true
	}
	return s.UID, ok, false
}

// find compares parsed addresses, because a program may use an IPv6 socket for an IPv4 address.
func find(local, remote netip.AddrPort) (s proc.TCPSocket, ok bool) {
	local, remote = unmap(local), unmap(remote)
	return findIn(proc.TCPSockets(0, int(local.Port())), local, remote)
}

func findIn(sockets iter.Seq[proc.TCPSocket], local, remote netip.AddrPort) (s proc.TCPSocket, ok bool) {
	for s := range sockets {
		if parseEnd(s.Local) == local && parseEnd(s.Remote) == remote {
			return s, true
		}
	}
	return s, false
}

// parseEnd parses an address and a port. The address has 32-bit words in this machine's byte order,
// 8 hex digits each.
func parseEnd(text string) (end netip.AddrPort) {
	words, port, _ := strings.Cut(text, ":")
	var raw []byte
	for ; len(words) >= 8; words = words[8:] {
		n, err := strconv.ParseUint(words[:8], 16, 32)
		if err != nil {
			return end
		}
		raw = binary.NativeEndian.AppendUint32(raw, uint32(n))
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || words != "" || err != nil {
		return end
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n))
}

// unmap turns an IPv4 address in IPv6 form into IPv4. It also drops the zone, which the tables do
// not have.
func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
