//go:build !portable

package serve

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// established is the state of a TCP connection that is open at both ends (tcp_states.h).
const established = 1

// isOver reports whether the other end of a connection has closed it, at least for writing, or our
// kernel has ended it.
func isOver(c net.Conn) (over bool) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		over = err == nil && info.State != established
	})
	return over || err != nil
}
