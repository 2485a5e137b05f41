//go:build !portable

package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Only root can be another user for a moment. The kernel notes whose a socket is when it is made.
func TestAnotherUsersProgramIsRefusedEvenWithTheToken(t *testing.T) {
	f := newFace(t, Limits{}, whoRoute("/tools", Tools), whoRoute("/in", Sender))
	ask := func(uid int, path, token string) int {
		conn := make(chan net.Conn, 1)
		go func() {
			runtime.LockOSThread() // it ends with this goroutine
			if uid != os.Geteuid() {
				unix.SetfsuidRetUid(uid)
			}
			c, err := net.Dial("tcp", f.address())
			if err != nil {
				t.Error(err)
			}
			conn <- c
		}()
		c := <-conn
		if c == nil {
			return 0
		}
		defer c.Close()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\n\r\n", path, f.s.port, token)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if code := ask(os.Geteuid(), "/tools", f.token()); code != http.StatusOK {
		t.Errorf("our own: %d", code)
	}
	if os.Geteuid() != 0 {
		return
	}
	if code := ask(65534, "/tools", f.token()); code != http.StatusForbidden {
		t.Errorf("with the token: %d", code)
	}
	if code := ask(65534, "/in", senderToken); code != http.StatusOK { // senders may be programs of other users
		t.Errorf("with a sender's: %d", code)
	}
}

// Whose a socket was that is closed nothing tells: another user's would pass for root's, or for one
// that cannot be seen.
func TestWhoHasHungUpIsAStranger(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, hangUp := range map[string]func(*net.TCPConn) error{
		"an end":  func(*net.TCPConn) error { return nil },
		"a reset": func(c *net.TCPConn) error { return c.SetLinger(0) },
	} {
		far, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer near.Close()
		fmt.Fprint(far, "a request")
		if err := errors.Join(hangUp(far.(*net.TCPConn)), far.Close()); err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, near) // until it is over here, too
		if !(&conn{Conn: near}).stranger() {
			t.Errorf("behind %s the connection is let in", name)
		}
	}
}
