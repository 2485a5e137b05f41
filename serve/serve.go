// Package serve is the HTTP server of c2c. It listens only on this machine. A visitor is an agent's
// client, a program that sends mail, or a person at the page. The server checks the key of each
// visitor, and limits how much a visitor can use. It opens the roots that requests need (a root is
// the directory with the mail of one project). The caller adds the handler of each path (Handle).
//
// One daemon serves all roots of a user. No other part of c2c needs the daemon. The daemon has
// these files in the state directory:
//
//	http-mcp-token   the key of programs that use c2c's tools; made at the first start and kept
//	http-mcp.json    where the daemon listens; removed when the daemon ends; if it was killed, the next one removes the file
//	http/port        the port of the last run: the daemon uses it again, because clients remember the URL
//
// Any goroutine may use a Server. Each user may run only one Server; the caller ensures that by a
// lock (package internal/daemon).
package serve

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"c2c/broker"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
)

// Route is a path, its handler, and the visitors that may use it.
type Route struct {
	Pattern string // as in http.ServeMux; without a method the handler gets requests of all methods
	Who     []Kind // if Anyone is in it, a visitor needs no key; the handler still sees the kind of a valid key
	Body    int64  // the largest body, in bytes
	// Stream: an answer may take any time. The answer to a GET ends when the daemon shuts down, or
	// when the visitor's key is no longer valid.
	Stream  bool
	Handler http.Handler
}

// Limits bounds what visitors can use, in tests in another way. The comment of each field begins
// with its default, which a zero stands for.
type Limits struct {
	Streams int           // 256, of which one sender has at most an eighth; a further stream is refused
	Body    time.Duration // 30 s; for the body of a request
	Write   time.Duration // 10 s; for what is left to write when a handler has returned
	Grace   time.Duration // 5 s; for the answers under way when the daemon ends
}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.Streams, 256), cmp.Or(l.Body, 30*time.Second), cmp.Or(l.Write, 10*time.Second), cmp.Or(l.Grace, 5*time.Second)}
}

const (
	maxHeader  = 16 << 10 // bytes
	headerTime = 5 * time.Second
	idleTime   = time.Minute      // between two requests of a connection
	probeTime  = 15 * time.Second // between two probes of a silent connection
	rootTime   = 10 * time.Minute // until an unused root is closed
)

// Config has the settings of a Server, and the functions that it calls.
type Config struct {
	State *atomicfile.Dir
	// Port is the port at which to listen, or AnyPort or LastPort.
	Port   int
	Getenv func(string) string
	Dir    string // the project for requests that name no project; absolute
	Log    *slog.Logger
	Now    func() time.Time

	// Open opens an existing root. OpenHere opens the root of a directory; it makes the root if
	// necessary.
	Open     func(root string) (*broker.Broker, error)
	OpenHere func(dir string) (*broker.Broker, error)
	// Keep, if set, acts on the deadlines of an open root until ctx ends.
	Keep func(ctx context.Context, b *broker.Broker)

	// Sender finds a sender outside by its token; nil: there are none. Person finds the person who is
	// logged in at the page; nil: there is no page.
	Sender func(token string) (v Visitor, ok bool)
	Person func(r *http.Request) (v Visitor, ok bool)
	Limits Limits
}

// Server is the daemon's HTTP server with its state.
type Server struct {
	cfg          Config
	limits       Limits
	mux          *http.ServeMux
	keys         *toolToken
	counts       *counts
	roots        *openRoots
	connections  atomic.Int64 // the number of open ones
	open         *streams
	addedMetrics []func(context.Context, io.Writer) // from AddMetrics

	listeners []net.Listener
	port      int
	hosts     map[string]bool // allowed Host headers
	origins   map[string]bool // allowed Origin headers
	busy      daemon.Underway // counts requests whose handler runs
}

// OpenRoot opens a root, if it is not open yet. The root must exist on disk: a request never makes
// a root by naming it. The root stays open until the caller calls the function done.
func (s *Server) OpenRoot(root string) (open *OpenRoot, done func(), err error) {
	return s.roots.use(root)
}

// Roots lists the open roots.
func (s *Server) Roots() []string { return s.roots.paths() }
