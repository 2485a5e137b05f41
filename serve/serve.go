// Package serve is the HTTP side of c2c: it listens on this machine only, checks who a visitor is, opens the roots
// that requests need, and limits what a visitor can use. The caller of New passes in what answers at each path.
//
// One daemon serves all roots of a user. Nothing of c2c needs it or asks it, and it needs no file but these, in the state
// directory:
//
//	http-mcp-token   the key of programs that use c2c's tools; made at the first start and kept
//	http-mcp.json    where the daemon listens; there while it runs, and after a kill until somebody looks
//	http/port        where it listened last, since clients keep one URL
//	http/http-mcp.lock  held while http-mcp.json is written or removed
//
// A Server may be used by any goroutine. That only one runs is what its caller's lock is for (package daemon).
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

// Route is what is answered at a path, and to whom.
type Route struct {
	Pattern string // as in http.ServeMux; without a method the handler answers all of them
	Who     []Kind // with Anyone: a key is looked at, and none is needed
	Body    int64  // the largest body, in bytes
	// Stream says that an answer may take as long as it likes. The answer to a GET ends when the daemon is to end, or when
	// the visitor's key is worth nothing any more.
	Stream  bool
	Handler http.Handler
}

// Senders knows the tokens of those that may write from outside.
type Senders interface {
	Sender(token string) (v Visitor, ok bool)
}

// Persons finds the person that is logged in at the page.
type Persons interface {
	Person(r *http.Request) (v Visitor, ok bool)
}

// Limits bound what visitors take. The zero value of each stands for the number behind it.
type Limits struct {
	Connections int           // 512; if there are more, one without a key is closed first, and an idle one of this user last
	Streams     int           // 256; an eighth of them for one sender outside; of more, the visitor with most loses its oldest
	OpenRoots   int           // 128 roots open
	Header      time.Duration // 5 s for the header of a request
	Body        time.Duration // 30 s for its body
	Idle        time.Duration // 60 s between two requests of a connection
	Write       time.Duration // 10 s for what is written at once
	Probe       time.Duration // 15 s between two probes of a connection that is silent
	Grace       time.Duration // 5 s for answers when the daemon ends
	RootIdle    time.Duration // 10 min until a root is closed that nobody needs
}

const maxHeader = 16 << 10 // bytes

func (l Limits) withDefaults() Limits {
	return Limits{
		cmp.Or(l.Connections, 512), cmp.Or(l.Streams, 256), cmp.Or(l.OpenRoots, 128),
		cmp.Or(l.Header, 5*time.Second), cmp.Or(l.Body, 30*time.Second), cmp.Or(l.Idle, time.Minute), cmp.Or(l.Write, 10*time.Second),
		cmp.Or(l.Probe, 15*time.Second), cmp.Or(l.Grace, 5*time.Second), cmp.Or(l.RootIdle, 10*time.Minute),
	}
}

// Config says where the daemon's files are, and what it is to know.
type Config struct {
	State *atomicfile.Dir
	// Port is where to listen. AnyPort is one that is free, LastPort the one of the last time, or 8788, or one that is free.
	Port   int
	Getenv func(string) string
	Dir    string // its root is used when nothing says which one; absolute
	Log    *slog.Logger
	Now    func() time.Time

	// Open opens a root that is there. OpenHere opens the one of a directory, and makes it.
	Open     func(root string) (*broker.Broker, error)
	OpenHere func(dir string) (*broker.Broker, error)
	// Keep, if set, acts on the deadlines of an open root until ctx ends.
	Keep func(ctx context.Context, b *broker.Broker)

	Senders Senders // nil: there are none
	Persons Persons // nil: there is no page
	Limits  Limits
}

// Server is the daemon's listener and all that it keeps.
type Server struct {
	cfg         Config
	limits      Limits
	mux         *http.ServeMux
	keys        *toolToken
	counts      *counts
	roots       *openRoots
	connections *connLimiter
	open        *streams
	more        []func(context.Context, io.Writer) // of the metrics

	listeners []net.Listener
	port      int
	waits     bool              // it listens, and does not run yet
	hosts     map[string]bool   // the Host headers that a request may have
	origins   map[string]bool   // the Origin headers that it may have
	busy      underway.Requests // requests whose handler runs
}

// OpenRoot opens a root, if it is not open yet. The root must be there: a request never makes one by its name. done is called
// when the place is not needed any more; that alone says that it may be closed.
func (s *Server) OpenRoot(ctx context.Context, root string) (place *OpenRoot, done func(), err error) {
	return s.roots.use(ctx, root)
}

// Roots are those that are open.
func (s *Server) Roots() []string { return s.roots.roots() }
