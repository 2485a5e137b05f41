package serve

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
)

// conn is a connection, with the facts that c2c knows about its other end.
type conn struct {
	net.Conn
	uidOnce     sync.Once
	uid         int  // the user at the other end
	seen        bool // uid is known
	closed      bool // the other end closed the connection before c2c could find that end's user
	processOnce sync.Once
	process     int
}

type connKey struct{}

// connOf returns the connection of a request; nil if the request did not come through a Server.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &conn{Conn: c})
}

// ends returns the two addresses of the connection, from the other end's point of view.
func (c *conn) ends() (local, remote netip.AddrPort) {
	from, _ := c.RemoteAddr().(*net.TCPAddr)
	to, _ := c.LocalAddr().(*net.TCPAddr)
	return from.AddrPort(), to.AddrPort()
}

// stranger reports whether the other end belongs, or may belong, to a user other than root and the
// daemon's user. A client that has already closed the connection counts as a stranger, because c2c
// can no longer find the client's user. If c2c cannot find the user of an open connection, the
// client does not count as a stranger.
func (c *conn) stranger() bool {
	if c == nil {
		return false
	}
	c.uidOnce.Do(func() {
		c.uid, c.seen, c.closed = connUser(c.ends())
		c.closed = c.closed || !c.seen && isOver(c.Conn)
	})
	return c.closed || c.seen && c.uid != os.Geteuid() && c.uid != 0
}

// Stranger reports whether a request comes, or may come, from another user of this machine; root is
// no stranger.
func Stranger(r *http.Request) bool { return connOf(r).stranger() }

// ProcessOf returns the process at the other end of a request's connection, 0 if c2c cannot see it.
// The search goes through all processes, so it runs only once for each connection, at the first
// call.
func ProcessOf(r *http.Request) int {
	c := connOf(r)
	if c == nil {
		return 0
	}
	c.processOnce.Do(func() { c.process = connOwner(c.ends()) })
	return c.process
}
