package wake

import (
	"context"
	"time"

	"c2c/inbox"
)

// Client is how one AI program is woken. Each has a folder of its own and a line in package clients.
type Client struct {
	Name string
	// Dir gives the directory in which a session of the client works that has called nothing of ours yet. ok is false for one
	// that no person sees. Nil: nothing tells of such sessions.
	Dir func(ctx context.Context, config, session string) (dir string, ok bool, err error)
	// Begin begins a session, and gives the client's own id of it and the arguments with which the client shows it. Nil: a session
	// can be named by the environment of its client.
	Begin func(context.Context, Start) (id string, args []string, err error)
	// NeedsNoServer says that a session can be reached without a server that the client has started.
	NeedsNoServer bool
	Ways          func(RingContext, Session) (Ways, error)
	// Peers shows names of ours among the sessions to which the client's own tool can write; nil: it has no such tool.
	// It gives nil where the tool is off. store stores what is sent to such a name, or fails.
	Peers func(getenv func(string) string, store func(context.Context, Sent) error) Peers
	// Inject adds a message to the history of a session that does not run, which the client shows when the session is
	// resumed, and returns where. Nil: it has no history that c2c knows.
	Inject func(History) (path string, err error)
}

// Start is a client that is to be started.
type Start struct {
	Path   string   // of the program
	Args   []string // that its person gives it
	Env    []string
	Config string // the directory of its configuration
	Dir    string // in which it works
	Alias  string
}

// Peers are the names of ours that a client shows. They are used by one goroutine.
type Peers interface {
	// Show makes these the names that are shown, each the only one in a place.
	Show(place string, names []string) error
	Close() error
}

// Sent is a message that a session of the client has sent with the client's own tool.
type Sent struct {
	Process      int    // of the sender, as the system says
	Session      string // the client's own id of its session
	To, ID, Text string
}

// History is whose history gets a message.
type History struct {
	Getenv func(string) string
	Config string // the directory of the client's configuration
	ID     string // the client's own id of the session
	Text   string
	Now    time.Time
}

// RingContext is where a ringer works, and the mailbox that it rings for.
type RingContext struct {
	Getenv func(string) string
	Config string                                       // the directory of the client's configuration
	Inside bool                                         // the client started this process, so its environment is the client's
	Push   func(busy func(context.Context) bool) Method // nil: there is no other method
	Box    *inbox.Mailbox
	Served func() bool // an MCP server or a plugin of ours runs in the client
	// Failed is why the session's model failed, and when, if it has not answered since; nil: nothing tells.
	Failed func() (why string, at time.Time)
	// Record tells what has become of a ring before it is over.
	Record func(context.Context, Ring)
}

// Session is what a ringer knows of a session. It is comparable: when it changes, the ways to it are made anew.
type Session struct {
	SID        string
	Client     string // the AI program's name
	ID         string // the newest of its own ids for the session
	Process    int    // the client's, while that very process lives; else 0
	Pane       string // the pane that its person lets c2c type into
	Hooked     bool   // our hooks have run in it
	Unattended bool   // its person wants it rung when no terminal shows it
	// Bell is the session's own way to be rung, such as a stream that its client has open; nil: it has none. One that is
	// opened anew is another Bell.
	Bell Doorbell
}

// Ways are the methods that may reach a session, the best first. Busy says whether it works now; nil: nobody knows.
// Follow tells what the session does, in the words of client or "" when that is not known, whenever it changes,
// until ctx ends; nil: its client tells nobody. By is the method whose way that is.
type Ways struct {
	Methods []Method
	Busy    func(context.Context) bool
	Follow  func(ctx context.Context, tell func(does string))
	By      string
}
