package mcp

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"c2c/mcp/rpc"
)

// isReset is the state of a socket after its other end has refused data (TCP_CLOSE in the kernel's tcp_states.h): the program
// there has ended, or has closed the connection with unread data. If the program has read everything before it closes,
// the socket has another state.
const isReset = 7

// tcpAcked waits until the kernel at the other end of a connection has acknowledged all written bytes. c2c cannot find
// out more, because MCP has no receipt for an answer. If conn is nil or is not a socket, tcpAcked returns at once. It
// returns ErrStalled after the time limit, and ErrHungUp if the other end has refused data.
func tcpAcked(ctx context.Context, conn net.Conn, limit time.Duration) error {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return ctx.Err()
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return rpc.ErrHungUp
	}
	end := time.Now().Add(limit)
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 20*time.Millisecond) {
		left, reset, err := unsent(raw)
		switch {
		case err != nil:
			return fmt.Errorf("ask how many bytes the client has acknowledged: %w", err)
		case reset:
			return rpc.ErrHungUp
		case left == 0:
			return nil
		case time.Now().After(end):
			return rpc.ErrStalled
		}
		time.Sleep(wait)
	}
}

// unsent returns how many bytes the other end has not acknowledged, and whether the socket is reset.
func unsent(raw syscall.RawConn) (left int, reset bool, err error) {
	var failed error
	err = raw.Control(func(fd uintptr) {
		if left, failed = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); failed != nil {
			return
		}
		var info *unix.TCPInfo
		if info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); failed == nil {
			reset = info.State == isReset
		}
	})
	if err == nil {
		err = failed
	}
	return left, reset, err
}
