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

	"c2c/process/procstat/sockets"
)

// connLimiter bounds the connections that are open. When there is no room for another, it closes the oldest connection that has shown
// no key, or else the oldest one of a sender, or else the one of this user that has been idle for longest: clients must expect
// that of an idle connection. So half requests and connections that are only held shut out no visitor with a key, and no sender
// shuts out this user's own clients and page.
type connLimiter struct {
	max   int
	mu    sync.Mutex
	conns []*conn      // in the order in which they came
	went  int          // how many were closed for want of room
	idles atomic.Int64 // how often a connection has become idle
}

func newConnLimiter(max int) *connLimiter { return &connLimiter{max: max} }

// conn is a connection, and what is known of its other end.
type conn struct {
	net.Conn
	limiter *connLimiter
	right   atomic.Int32 // to stay
	idle    atomic.Int64 // a later connection to become idle has a higher number; 0: a request is under way

	uidOnce     sync.Once
	uid         int
	seen        bool
	closed      bool // by the other end, before its user was looked for
	processOnce sync.Once
	process     Process
}

// What right a connection has to stay.
const (
	ofAnyone = iota // it has shown no key
	ofSender        // that of a sender
	ofUser          // the tool token, or a login
)

// add takes a new connection in. It returns nil if there is no room, and all others are the user's own and busy.
func (c *connLimiter) add(inner net.Conn) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conns) >= c.max && !c.makeRoom() {
		return nil
	}
	new := &conn{Conn: inner, limiter: c}
	c.conns = append(c.conns, new)
	return new
}

func (c *connLimiter) makeRoom() bool {
	c.went++
	for right := int32(ofAnyone); right < ofUser; right++ {
		if i := slices.IndexFunc(c.conns, func(old *conn) bool { return old.right.Load() == right }); i >= 0 {
			c.evict(i)
			return true
		}
	}
	longest, since := -1, int64(0)
	for i, old := range c.conns {
		if idle := old.idle.Load(); idle != 0 && (longest < 0 || idle < since) {
			longest, since = i, idle
		}
	}
	if longest >= 0 {
		c.evict(longest)
	}
	return longest >= 0
}

func (c *connLimiter) evict(i int) {
	c.conns[i].Conn.Close()
	c.conns = slices.Delete(c.conns, i, i+1)
}

// note keeps what a connection does. The HTTP server calls it.
func (c *connLimiter) note(inner net.Conn, state http.ConnState) {
	one, ok := inner.(*conn)
	switch {
	case !ok:
	case state == http.StateIdle:
		one.idle.Store(c.idles.Add(1))
	default:
		one.idle.Store(0)
	}
}

func (c *connLimiter) remove(gone *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.conns, gone); i >= 0 {
		c.conns = slices.Delete(c.conns, i, i+1)
	}
}

// size is how many connections are open, and how many were closed for want of room.
func (c *connLimiter) size() (open, went int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns), c.went
}

func (c *conn) Close() error {
	c.limiter.remove(c)
	return c.Conn.Close()
}

// CloseWrite tells the other end that nothing more comes. net/http calls it when the other end may still send, and closes the connection
// later: so the other end finds the answer, not a reset.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// listener hands the connections of a listener to the limiter.
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

// connOf is the connection of a request; nil of one that came in another way.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// LetIn is called by a handler that has proved by itself which sender has sent a request, as by a signature. The connection may then
// stay as long as one that has shown a token.
func LetIn(r *http.Request) { connOf(r).letIn(Sender) }

func (c *conn) letIn(kind Kind) {
	switch {
	case c == nil:
	case kind != Sender:
		c.right.Store(ofUser)
	default:
		c.right.CompareAndSwap(ofAnyone, ofSender)
	}
}

// ends are the addresses of the other end's socket, as it sees them.
func (c *conn) ends() (local, remote netip.AddrPort) {
	from, _ := c.RemoteAddr().(*net.TCPAddr)
	to, _ := c.LocalAddr().(*net.TCPAddr)
	return from.AddrPort(), to.AddrPort()
}

// stranger reports whether the other end belongs to another user than root and this one, or may have: once a client has closed the
// connection, nothing tells whose it was. A client that cannot be seen at all is no stranger.
func (c *conn) stranger() bool {
	if c == nil {
		return false
	}
	c.uidOnce.Do(func() {
		c.uid, c.seen, c.closed = sockets.OwnerUID(c.ends())
		c.closed = c.closed || !c.seen && isOver(c.Conn)
	})
	return c.closed || c.seen && c.uid != os.Geteuid() && c.uid != 0
}

// Stranger reports whether a request comes from another user of this machine, root aside.
func Stranger(r *http.Request) bool { return connOf(r).stranger() }

// ConnOf is the connection of a request as the system gave it; nil if it is not known. It tells how much of an answer the
// client's kernel has.
func ConnOf(r *http.Request) net.Conn {
	c := connOf(r)
	if c == nil {
		return nil
	}
	return c.Conn
}

// ProcessOf is the process at the other end of a request's connection. To find it costs a look at all processes, so that is done at
// the first call, once for each connection.
func ProcessOf(r *http.Request) Process {
	c := connOf(r)
	if c == nil {
		return Process{}
	}
	c.processOnce.Do(func() {
		if pid, uid, ok := sockets.Owner(c.ends()); ok {
			c.process = Process{PID: pid, UID: uid}
		}
	})
	return c.process
}
