// Package serve is the HTTP server of c2c: it listens only on this machine, checks each visitor's key, opens the roots that
// requests need, and limits what a visitor can use. The caller adds the handler of each path (Handle).
//
// One daemon serves all roots of a user. No other part of c2c needs the daemon. It has these files, in the state directory:
//
//	http-mcp-token   the key of programs that use c2c's tools; made at the first start and kept
//	http-mcp.json    where the daemon listens; exists while it runs, and after a kill until a command reaps it
//	http/port        the daemon's last port, because clients remember the URL
//	http/http-mcp.lock  held while http-mcp.json is written or removed
//
// Any goroutine may use a Server. Only one may run for a user; a lock of the caller ensures that (package daemon).
package serve

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"c2c/broker"
	"c2c/inbox/atomicfile"
	"c2c/serve/underway"
)

// Route is a path, its handler, and the visitors that may use it.
type Route struct {
	Pattern string // as in http.ServeMux; without a method the handler gets requests of all methods
	Who     []Kind // with Anyone, a visitor needs no key; if it shows one, the handler sees its kind
	Body    int64  // the largest body, in bytes
	// Stream: an answer may take any time. The answer to a GET ends when the daemon shuts down, or when the visitor's key is
	// no longer valid.
	Stream  bool
	Handler http.Handler
}

// Senders finds a sender outside by its token.
type Senders interface {
	Sender(token string) (v Visitor, ok bool)
}

// Persons finds the person who is logged in at the page.
type Persons interface {
	Person(r *http.Request) (v Visitor, ok bool)
}

// Limits bounds what visitors can use. The comments name the values of zero fields.
type Limits struct {
	Connections int           // 512; for a further one, the server closes an old one: first those without a key, see connLimiter
	Streams     int           // 256, of which one sender outside may have an eighth; for a further one, the visitor with the most streams loses its oldest
	OpenRoots   int           // 128
	Header      time.Duration // 5 s for the header of a request
	Body        time.Duration // 30 s for its body
	Idle        time.Duration // 60 s between two requests of a connection
	Write       time.Duration // 10 s for one write
	Probe       time.Duration // 15 s between two probes of a silent connection
	Grace       time.Duration // 5 s for answers when the daemon ends
	RootIdle    time.Duration // 10 min until an unused root is closed
}

const maxHeader = 16 << 10 // bytes

func (l Limits) withDefaults() Limits {
	return Limits{
		cmp.Or(l.Connections, 512), cmp.Or(l.Streams, 256), cmp.Or(l.OpenRoots, 128),
		cmp.Or(l.Header, 5*time.Second), cmp.Or(l.Body, 30*time.Second), cmp.Or(l.Idle, time.Minute), cmp.Or(l.Write, 10*time.Second),
		cmp.Or(l.Probe, 15*time.Second), cmp.Or(l.Grace, 5*time.Second), cmp.Or(l.RootIdle, 10*time.Minute),
	}
}

// Config is what a Server needs.
type Config struct {
	State *atomicfile.Dir
	// Port is where to listen. It may be AnyPort or LastPort.
	Port   int
	Getenv func(string) string
	Dir    string // the project of requests that name none; absolute
	Log    *slog.Logger
	Now    func() time.Time

	// Open opens an existing root. OpenHere opens the root of a directory; it makes the root if necessary.
	Open     func(root string) (*broker.Broker, error)
	OpenHere func(dir string) (*broker.Broker, error)
	// Keep, if set, acts on the deadlines of an open root until ctx ends.
	Keep func(ctx context.Context, b *broker.Broker)

	Senders Senders // nil: no senders
	Persons Persons // nil: no page
	Limits  Limits
}

// Server is the daemon's HTTP server with its state.
type Server struct {
	cfg          Config
	limits       Limits
	mux          *http.ServeMux
	keys         *toolToken
	counts       *counts
	roots        *openRoots
	connections  *connLimiter
	open         *streams
	addedMetrics []func(context.Context, io.Writer) // what AddMetrics has added

	listeners []net.Listener
	port      int
	waits     bool              // true between Listen and Run
	hosts     map[string]bool   // allowed Host headers
	origins   map[string]bool   // allowed Origin headers
	busy      underway.Requests // counts requests whose handler runs
}

// OpenRoot opens a root, if it is not open yet. The root must exist: a request never makes one by its name. The root stays
// open until the caller calls done.
func (s *Server) OpenRoot(ctx context.Context, root string) (open *OpenRoot, done func(), err error) {
	return s.roots.use(ctx, root)
}

// Roots lists the open roots.
func (s *Server) Roots() []string { return s.roots.roots() }
