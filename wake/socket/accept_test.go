package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// full has no file left for some time.
type full struct {
	net.Listener
	until time.Time
	then  error
}

func (f *full) Accept() (net.Conn, error) {
	if time.Now().Before(f.until) {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return &net.UnixConn{}, f.then
}

func TestAListenerOutlivesATimeWithoutFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if conn, err := AcceptOurs(&full{until: time.Now().Add(time.Hour)}); conn == nil || err != nil {
			t.Errorf("%v", err)
		}
		closed := &full{then: net.ErrClosed}
		if _, err := AcceptOurs(closed); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}
