package socket

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// longestBackOff is the longest pause between two tries to accept. So Accept may notice a closed listener this much later.
const longestBackOff = time.Second

// Accept takes the next connection. If the process or the system has no free file descriptor, it tries again, as net/http
// does. A server that gave up then would be gone for good.
func Accept(l net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longestBackOff) {
		conn, err := l.Accept()
		if err == nil || !passes(err) {
			return conn, err
		}
		time.Sleep(pause)
	}
}

// passes reports whether an error of accept(2) is temporary.
func passes(err error) bool {
	for _, one := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
