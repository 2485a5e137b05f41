package claude

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"c2c/wake"
)

// A client that has been stopped accepts nothing, and Linux refuses what is more than its listener
// holds.
func TestAClientThatAcceptsNothingIsThere(t *testing.T) {
	s, l := listen(t)
	conn, err := l.(*net.UnixListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := conn.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); cerr != nil || err != nil { // holds one
		t.Fatal(cerr, err)
	}
	for range 2 {
		err = s.Ring(t.Context(), wake.Notice{})
	}
	if !errors.Is(err, wake.ErrUncaptured) {
		t.Error(err)
	}
}
