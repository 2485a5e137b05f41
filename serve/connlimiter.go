package serve

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// connLimiter bounds the number of open connections. To make room for a new one it closes the oldest that has shown no key, else the oldest
// idle one: clients must expect that. So incomplete requests and unused connections never shut out a client with a key.
type connLimiter struct {
	max   int
	mu    sync.Mutex
	conns []*conn // in the order of their arrival
	went  int     // number of connections that were closed to make room
}

func newConnLimiter(max int) *connLimiter { return &connLimiter{max: max} }

// conn is a connection, with the facts that c2c knows about its other end.
type conn struct {
	net.Conn
	limiter *connLimiter
	known   atomic.Bool // a request has shown a key
	idle    atomic.Bool // no request is under way

	uidOnce     sync.Once
	uid         int  // the user at the other end
	seen        bool // uid is known
	closed      bool // the other end closed the connection before c2c could find that end's user
	processOnce sync.Once
	process     Process
}

// add adds a connection. It returns nil if there is no room, because all other connections are busy.
func (c *connLimiter) add(inner net.Conn) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conns) >= c.max {
		i := slices.IndexFunc(c.conns, func(old *conn) bool { return !old.known.Load() })
		if i < 0 {
			i = slices.IndexFunc(c.conns, func(old *conn) bool { return old.idle.Load() })
		}
		if c.went++; i < 0 {
			return nil
		}
		c.conns[i].Conn.Close()
		c.conns = slices.Delete(c.conns, i, i+1)
	}
	new := &conn{Conn: inner, limiter: c}
	c.conns = append(c.conns, new)
	return new
}

// note records whether a connection is idle. The HTTP server calls note whenever the state of a connection changes.
func (c *connLimiter) note(inner net.Conn, state http.ConnState) {
	if one, ok := inner.(*conn); ok {
		one.idle.Store(state == http.StateIdle)
	}
}

func (c *connLimiter) remove(gone *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.conns, gone); i >= 0 {
		c.conns = slices.Delete(c.conns, i, i+1)
	}
}

// size returns the number of open connections, and how many were closed to make room.
func (c *connLimiter) size() (open, went int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns), c.went
}

func (c *conn) Close() error {
	c.limiter.remove(c)
	return c.Conn.Close()
}

// CloseWrite closes the connection only for writing. net/http calls CloseWrite first if the other end may still send, and closes
// the whole connection later. Therefore the other end reads the answer instead of a reset.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// listener is a net.Listener that adds each new connection to the limiter.
type listener struct {
	net.Listener
	limiter *connLimiter
}

func (l listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.limiter.add(inner); c != nil {
			return c, nil
		}
		inner.Close()
	}
}

type connKey struct{}

// connOf returns the connection of a request; nil if the request did not come through a connLimiter.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// admit records that a request of the connection has shown a key.
func (c *conn) admit() {
	if c != nil {
		c.known.Store(true)
	}
}

// Admit gives a connection the right to stay. A handler calls it when it has identified the sender of the request by a signature.
func Admit(r *http.Request) { connOf(r).admit() }

// ends returns the two addresses of the connection, from the other end's point of view.
func (c *conn) ends() (local, remote netip.AddrPort) {
	from, _ := c.RemoteAddr().(*net.TCPAddr)
	to, _ := c.LocalAddr().(*net.TCPAddr)
	return from.AddrPort(), to.AddrPort()
}

// stranger reports whether the other end belongs, or may belong, to a user other than root and the daemon's user. A client that has
// already closed the connection counts as a stranger, because c2c can no longer find the client's user. If c2c cannot find the user
// of an open connection, the client does not count as a stranger.
func (c *conn) stranger() bool {
	if c == nil {
		return false
	}
	c.uidOnce.Do(func() {
		c.uid, c.seen, c.closed = ConnUser(c.ends())
		c.closed = c.closed || !c.seen && isOver(c.Conn)
	})
	return c.closed || c.seen && c.uid != os.Geteuid() && c.uid != 0
}

// Stranger reports whether a request comes, or may come, from another user of this machine; root is no stranger.
func Stranger(r *http.Request) bool { return connOf(r).stranger() }

// ProcessOf returns the process at the other end of a request's connection. The search goes through all processes, so it runs
// only once for each connection, at the first call.
func ProcessOf(r *http.Request) Process {
	c := connOf(r)
	if c == nil {
		return Process{}
	}
	c.processOnce.Do(func() {
		if pid, uid, ok := ConnOwner(c.ends()); ok {
			c.process = Process{PID: pid, UID: uid}
		}
	})
	return c.process
}
