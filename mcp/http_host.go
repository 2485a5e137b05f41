package mcp

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/mcp/tools"
	"c2c/sessions"
)

// HTTPConfig configures the tools over Streamable HTTP. Of the embedded Config, the tools use only
// LockWait, Progress, Log and Uninstalled. All other facts come from the requests of the clients.
type HTTPConfig struct {
	tools.Config
	// Root returns the root for a request; the result by says what has chosen this root. HTTP calls
	// Root at a session's first tool call, and again if the root was removed.
	Root func(*http.Request) (root, by string, err error)
	URL  string // the URL of this handler
	// Open opens a root for one client. HTTP closes the broker.
	Open func(root string, log inbox.Log) (*broker.Broker, error)
	// Process returns the client's process id, or 0 if c2c cannot see the process.
	Process func(*http.Request) int
	// CountStream counts a request as a stream of events, see serve.CountStream.
	CountStream func(*http.Request) (ctx context.Context, leave func())
	Sessions    *atomicfile.Dir // the directory with a record of each MCP session that has a mailbox
	Limits      HTTPLimits
	Now         func() time.Time
}

// HTTPLimits limits the memory that clients can make the transport use, and the times for which the
// transport waits. Each comment ends with the default, which zero stands for.
type HTTPLimits struct {
	Body     int64         // the most bytes of one message (256 KiB of text may be 1.5 MiB of JSON); 2 MiB
	Sessions int           // open sessions; 256
	Requests int           // requests of a session at the same time; 64
	Write    time.Duration // how long the client's kernel may take to get the written bytes; 10 s
	Ping     time.Duration // the time between two pings on a stream; 15 s
	Idle     time.Duration // how long an unused session without a mailbox is kept; 30 min
	Bound    time.Duration // how long an unused session with a mailbox is kept while its process lives; 24 h
}

func (l HTTPLimits) withDefaults() HTTPLimits {
	return HTTPLimits{
		cmp.Or(l.Body, 2<<20), cmp.Or(l.Sessions, 256), cmp.Or(l.Requests, 64),
		cmp.Or(l.Write, 10*time.Second), cmp.Or(l.Ping, 15*time.Second),
		cmp.Or(l.Idle, 30*time.Minute), cmp.Or(l.Bound, 24*time.Hour),
	}
}

// host holds what all sessions of the transport share.
type host struct {
	cfg    HTTPConfig
	limits HTTPLimits
	srv    *server.MCPServer

	ctx  context.Context // ends when Close is called
	stop context.CancelCauseFunc

	binding   sync.Map      // by root, a *sync.Mutex: held while a connection looks for its mailbox there, because two connections of one process must not find the same mailbox
	moved     chan struct{} // see HTTP.Moved
	processes sessions.ProcessTable
	listeners atomic.Uint64 // number of streams opened so far
}

func newHost(cfg HTTPConfig, srv *server.MCPServer) *host {
	h := &host{cfg: cfg, limits: cfg.Limits.withDefaults(), srv: srv, moved: make(chan struct{}, 1), processes: new(sessions.SystemProcesses)}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	return h
}

// lockBinding keeps other connections from looking for their mailbox in a root. The caller must
// call unlock.
func (h *host) lockBinding(root string) (unlock func()) {
	one, _ := h.binding.LoadOrStore(root, new(sync.Mutex))
	one.(*sync.Mutex).Lock()
	return one.(*sync.Mutex).Unlock
}

// connection describes the connection to a client. The argument noBell explains why c2c cannot ring
// on it; "" means that c2c can.
func (h *host) connection(noBell, rootBy, protocol string) tools.Connection {
	return tools.Connection{Transport: sessions.TransportHTTP, Why: tools.HTTPWhy, Protocol: protocol, RootBy: rootBy, URL: h.cfg.URL, NoBell: noBell}
}

// sayLater refuses a request that may succeed in a moment.
func sayLater(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// bellsMoved tells the ringers that bells, or the roots with mailboxes, may have changed.
func (h *host) bellsMoved() { daemon.Poke(h.moved) }
