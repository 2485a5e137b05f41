package wake

import (
	"context"
	"time"

	"c2c/inbox"
)

// Client describes how c2c wakes an AI program by that program's own protocol. Each has a
// package below wake with the client's name.
type Client struct {
	Name string
	// Dir returns the working directory of a session that has not called c2c yet. ok is false for a
	// session that is not for a person, such as that of a subagent. Dir is nil if c2c cannot see
	// sessions that have not called it.
	Dir func(ctx context.Context, config, session string) (dir string, ok bool, err error)
	// Begin makes the client begin a session. It returns the client's id for the session, and the
	// arguments that make the client show the session. Begin is nil if the client tells its child
	// processes the session's id in their environment.
	Begin func(context.Context, Start) (id string, args []string, err error)
	// NeedsNoServer means that c2c can reach a session in which the client has started no server of
	// c2c.
	NeedsNoServer bool
	Ways          func(RingContext, Session) (Ways, error) // returns how c2c may reach a session
	// Inject adds a message to the history of a session that is not running, and returns the path
	// of the history. The client shows the message when a person resumes the session. Inject is nil
	// if c2c cannot write this client's histories.
	Inject func(History) (path string, err error)
}

var clients = map[string]Client{}

// Register adds a client. The package of a client calls it in init, and the ringer links that
// package.
func Register(c Client) { clients[c.Name] = c }

// FindClient returns a client by its name. For an unknown name it returns a Client that has no
// method to reach a session.
func FindClient(name string) (c Client, known bool) {
	if c, known = clients[name]; known {
		return c, true
	}
	return Client{Name: name, Ways: func(RingContext, Session) (Ways, error) { return Ways{}, nil }}, false
}

// Start describes a client that c2c is about to start.
type Start struct {
	Path   string   // the path of the program
	Args   []string // the person's arguments for the program
	Env    []string
	Config string // the directory of the client's configuration
	Dir    string // the client's working directory
	Alias  string
}

// History describes a message to add to the history of a session.
type History struct {
	Getenv func(string) string
	Config string // the directory of the client's configuration
	ID     string // the client's id for the session
	Text   string
	Now    time.Time
}

// RingContext describes where a ringer runs, and the mailbox for which it rings.
type RingContext struct {
	Getenv func(string) string
	Config string                                       // the directory of the client's configuration
	Inside bool                                         // the client started this process, so our environment comes from the client
	Push   func(busy func(context.Context) bool) Method // returns the method by which this MCP server reaches the client; nil: it has none
	Box    *inbox.Mailbox
	Served func() bool // reports whether an MCP server or a plugin of ours runs in the client
	// Failed returns why and when the session's model failed, or "" if it has answered since.
	// Failed is nil if c2c cannot know.
	Failed func() (why string, at time.Time)
	// Record records a ring whose outcome may still change.
	Record func(context.Context, Ring)
}

// Session is what a ringer knows about a session. The type is comparable, because the ringer makes
// new Ways when the value changes.
type Session struct {
	SID        string
	Client     string // the AI program's name
	ID         string // the client's newest id for the session
	Process    int    // the client's process id while the client runs, else 0
	Pane       string // the pane in which the person lets c2c type
	Hooked     bool   // our hooks have run in the session
	Unattended bool   // the person wants rings even if no terminal shows the session
	// Bell is the session's own doorbell, such as an event stream that the client has open; nil:
	// the session has none. When the client opens the stream again, Bell gets a new value.
	Bell Doorbell
}

// Ways says how c2c may reach a session, and how c2c learns what the session does. Methods has the
// best method first. Busy reports whether the session works now; Busy is nil if c2c cannot know.
// Until ctx ends, Follow calls the function tell whenever the session begins to do something else.
// Its argument, a word that package client defines, says what; it is "" if c2c does not know.
// Follow is nil if the client reports no changes. The field By has the name of the method that
// Follow uses.
type Ways struct {
	Methods []Method
	Busy    func(context.Context) bool
	Follow  func(ctx context.Context, tell func(does string))
	By      string
}
