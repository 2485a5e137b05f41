// Package sockets finds the process at the other end of a TCP connection, on Linux. It is not part of procstat: c2c
// links that and has no connections, and would pay for these imports at every start.
package sockets

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"c2c/process/procstat"
)

// Owner is the process that has one end of a TCP connection on this machine: local is that end's own address, remote the
// other one's. Of a socket that a process shares with those below it, it is the one above. A process of another user, or in
// another PID namespace, cannot be seen: pid is 0 then. ok is false when the connection itself cannot be seen, or its end was
// closed.
func Owner(local, remote netip.AddrPort) (pid, uid int, ok bool) {
	s, ok := find(local, remote)
	if !ok || s.Inode == procstat.NoInode {
		return 0, 0, false
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if !holds(pid, s.Link()) {
			continue
		}
		if pid, ok := eldest(pid, s.Link()); ok {
			return pid, s.UID, true
		}
	}
	return 0, s.UID, true
}

func holds(pid int, socket string) bool {
	files, _ := procstat.Files(pid)
	for _, to := range files {
		if to == socket {
			return true
		}
	}
	return false
}

// eldest is the process from which one has inherited a socket: between fork and exec each child has all that its parent has.
// ok is false when the process has ended.
func eldest(pid int, socket string) (_ int, ok bool) {
	for {
		p, err := procstat.Read(pid)
		if err != nil {
			return 0, false
		}
		if !holds(p.Parent, socket) {
			return pid, true
		}
		pid = p.Parent
	}
}

// OwnerUID is the user of an end of a TCP connection. It looks at no process. ok is false when that end cannot be seen.
// closed: its program has closed it, so that nothing tells any more whose it was.
func OwnerUID(local, remote netip.AddrPort) (uid int, ok, closed bool) {
	s, ok := find(local, remote)
	if s.Inode == procstat.NoInode {
		return 0, false, true
	}
	return s.UID, ok, false
}

// find looks into both tables: a program may use a socket of IPv6 for an address of IPv4.
func find(local, remote netip.AddrPort) (s procstat.TCPSocket, ok bool) {
	local, remote = unmap(local), unmap(remote)
	for _, path := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		table, _ := os.ReadFile(path)
		if s, ok = findIn(table, local, remote); ok {
			return s, true
		}
	}
	return s, false
}

func findIn(table []byte, local, remote netip.AddrPort) (s procstat.TCPSocket, ok bool) {
	for s := range procstat.TCPSockets(table, int(local.Port())) {
		if parseEnd(s.Local) == local && parseEnd(s.Remote) == remote {
			return s, true
		}
	}
	return s, false
}

// parseEnd reads an address: words of 32 bits in the order of this machine, each as 8 hex digits, and the port.
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

// unmap also drops the zone, which the tables do not have.
func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
