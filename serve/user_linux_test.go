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
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"c2c/broker"
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

// The client is this test.
func TestWithoutAHeaderTheClientsOwnDirectoryCounts(t *testing.T) {
	requests, looked := make(chan *http.Request), make(chan bool)
	f := newFace(t, Limits{}, Route{Pattern: "/", Who: []Kind{Anyone}, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests <- r
		<-looked
	})})
	chosen := func(request string) string {
		var asks sync.WaitGroup
		defer asks.Wait()
		asks.Go(func() { f.ask(request + "\n") })
		root, by, err := f.s.RootFor(<-requests)
		looked <- true
		return fmt.Sprint(by, " ", root, " ", err)
	}
	projectDir := newProject(t, f.home)
	named, err := broker.RootHere(f.s.cfg.Getenv, projectDir)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := broker.RootHere(f.s.cfg.Getenv, f.home)
	if err != nil {
		t.Fatal(err)
	}
	const request = "GET / HTTP/1.1\nHost: localhost:{port}\n"
	t.Chdir(projectDir)
	if got, want := chosen(request), "process "+named+" <nil>"; got != want {
		t.Errorf("in a project: %s, want %s", got, want)
	}
	if got, want := chosen(request+ProjectHeader+": "+f.home+"\n"), "header "+usual+" <nil>"; got != want {
		t.Errorf("with a header: %s, want %s", got, want)
	}
	t.Chdir(t.TempDir()) // in no repository: clients with windows run anywhere
	if got, want := chosen(request), "directory "+usual+" <nil>"; got != want {
		t.Errorf("elsewhere: %s, want %s", got, want)
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
