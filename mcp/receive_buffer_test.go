package mcp

import "syscall"

// receiveBuffer makes a socket take little that its program has not read.
func receiveBuffer(size int) func(network, address string, c syscall.RawConn) error {
	if size == 0 {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, size) })
		if failed != nil {
			return failed
		}
		return err
	}
}
