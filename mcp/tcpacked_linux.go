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

// isReset is the state of a socket whose other end has refused data (TCP_CLOSE in the kernel's tcp_states.h): its program has
// ended, or has closed the connection with unread data. If it reads all and then closes, the state is another one.
const isReset = 7

// tcpAcked waits until the kernel at the other end of a connection has acknowledged all written bytes. c2c cannot know more: MCP
// has no receipt for an answer. If conn is nil or no socket, tcpAcked returns at once.
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
			return fmt.Errorf("ask for what the client has: %w", err)
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

// unsent counts the bytes that the other end has not acknowledged.
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
