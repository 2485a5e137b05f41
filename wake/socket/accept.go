package socket

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// longestBackOff is the longest pause between two tries to accept. So Accept may notice with this
// delay that the listener is closed.
const longestBackOff = time.Second

// AcceptOurs accepts the next connection. If the process or the system has no free file descriptor,
// Accept tries again, as net/http does. Otherwise a short lack of descriptors would end the server
// for good.
func AcceptOurs(l net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longestBackOff) {
		conn, err := l.Accept()
		if err == nil || !temporary(err) {
			return conn, err
		}
		time.Sleep(pause)
	}
}

// temporary reports whether an error of accept(2) may go away by itself.
func temporary(err error) bool {
	for _, one := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
