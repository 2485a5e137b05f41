package tools

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Client is an AI program as its transport knows it.
type Client struct {
	Configured string              // the AI program that c2c's configuration names; see Config.Client
	Process    int                 // the client's process id; 0: not known
	Remote     bool                // the client has not started the server process, see callers.Caller
	Getenv     func(string) string // nil: the environment is not known
	// Open opens the broker, see Config.Open.
	Open func(log inbox.Log) (*broker.Broker, error)
}

// env returns a variable of the client's environment; "" if the environment is not known.
func (c Client) env(name string) string {
	if c.Getenv == nil {
		return ""
	}
	return c.Getenv(name)
}

// Connection holds the facts that a transport knows about the connection to a client.
type Connection struct {
	Transport string `json:"transport"` // sessions.TransportHTTP or TransportStdio
	Why       string `json:"transport_why"`
	Protocol  string `json:"protocol,omitempty"`
	Session   string `json:"mcp_session,omitempty"` // only its first characters: with the whole id another program could act as the client
	Root      string `json:"root"`
	RootBy    string `json:"root_chosen_by,omitempty"`
	URL       string `json:"daemon_url,omitempty"`
	Version   string `json:"version"`
	PID       int    `json:"pid"`
	Fallback  string `json:"fallback,omitempty"`         // over HTTP: how the client can have the tools without the daemon
	Relay     string `json:"permission_relay,omitempty"` // for a client with a channel: whether c2c has asked it to report its permission dialogs

	NoBell string `json:"-"` // why c2c cannot ring on the connection; "": it can, or another part of c2c rings the client
}

// Peer is one client as the tools see it, with the state that the tools keep between two calls.
type Peer struct {
	Cfg    *Config
	Client Client
	Others otherClients // nil: the transport has only one client
	// Connection describes the transport; nil: the client has started this process as its server.
	Connection func() Connection

	disk     sync.Mutex       // guards the next fields. Its holder uses the disk of the root, which may hang
	broker   *broker.Broker   // nil before the first call
	replaced []*broker.Broker // brokers of removed roots: a transport may still be writing an answer that needs one
	unlock   func() error     // releases the server lock of session Last; the lock shows that the session is alive

	mu            sync.Mutex // guards the next fields. Its holder never waits for a disk, because code that looks at all peers takes it
	Last          string     // the session of the last call
	SharesProcess bool       // another connection has the mailbox of the client's process
	protocol      string     // the agreed protocol, if the transport does not keep it

	progress sync.Map // session id to progress
	inRooms  sync.Map // ids of the sessions for which joinRooms was called

	warnMu  sync.Mutex // not disk, because opening the broker may call Warn with disk held
	warning string     // a warning that no answer has contained yet; or empty
}

// otherClients answers questions about the other clients of a transport.
type otherClients interface {
	// Taken reports whether another connection now has the session.
	Taken(sid string) bool
	// Bind records the session that a call has found for its connection, before the answer is
	// written. The argument named tells whether the call itself named the session.
	Bind(sid string, named bool) error
	// LockBinding keeps other connections from looking for their first session. The caller must
	// call unlock.
	LockBinding() (unlock func())
}

type peerKey struct{} // context key of a *Peer, for a transport that has several clients

// WithPeer returns a context for a request of the client p.
func WithPeer(ctx context.Context, p *Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// Open returns the broker of the root. If the root was removed and made again, it opens a new
// broker.
func (p *Peer) Open() (*broker.Broker, error) {
	p.disk.Lock()
	defer p.disk.Unlock()
	if p.broker != nil && !p.broker.Replaced() {
		return p.broker, nil
	}
	b, err := p.Client.Open(sessions.WarningLogger(p.Warn))
	if err == nil {
		if p.broker != nil {
			p.replaced = append(p.replaced, p.broker)
		}
		p.broker = b
		p.unserve()
	}
	return b, err
}

// Close closes the peer's brokers and releases its lock. The caller makes sure that no call of the
// peer is under way.
func (p *Peer) Close() {
	p.disk.Lock()
	defer p.disk.Unlock()
	p.unserve()
	for _, b := range append(p.replaced, p.broker) {
		if b != nil {
			b.Close()
		}
	}
	p.broker, p.replaced = nil, nil
}

// SetProcess sets the client's process id.
func (p *Peer) SetProcess(process int) { set(p, &p.Client.Process, process) }

// Process returns the client's process id, or 0 if c2c does not know it.
func (p *Peer) Process() int { pid, _ := p.Processes(); return pid }

// Processes returns the client's process id, and whether another connection of that process has the
// mailbox of the process.
func (p *Peer) Processes() (pid int, shares bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Client.Process, p.SharesProcess
}

// Session returns the session of the last call, or "" before the first call.
func (p *Peer) Session() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Last
}

// ForgetSession forgets the session, because another connection has it now.
func (p *Peer) ForgetSession() {
	p.disk.Lock()
	defer p.disk.Unlock()
	p.unserve()
	set(p, &p.Last, "")
}

// set changes a field that mu guards.
func set[T any](p *Peer, field *T, value T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*field = value
}

// ReleaseLock releases the lock that shows that the session is alive, unless a call is about to
// take it. The next call takes it again.
func (p *Peer) ReleaseLock() {
	if p.disk.TryLock() {
		defer p.disk.Unlock()
		p.unserve()
	}
}

// unserve releases the server lock, if it is held. The caller holds the lock disk.
func (p *Peer) unserve() {
	if p.unlock != nil {
		p.unlock()
		p.unlock = nil
	}
}

// Warn keeps a warning for the next answer, unless another warning waits already. broker.log has
// all warnings.
func (p *Peer) Warn(sentence string) {
	p.warnMu.Lock()
	defer p.warnMu.Unlock()
	if p.warning == "" {
		p.warning = strings.ToValidUTF8(sentence[:min(len(sentence), maxWarning)], "")
	}
}

// takeWarning returns the warning that no answer has contained yet, and forgets it.
func (p *Peer) takeWarning() string {
	p.warnMu.Lock()
	defer p.warnMu.Unlock()
	defer func() { p.warning = "" }()
	return p.warning
}

// callerIn returns what the method caller returns. It leaves out the process if another connection
// has the mailbox of the process.
func (p *Peer) callerIn(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) callers.Caller {
	c := p.caller(ctx, req)
	if p.Others == nil || c.PID == 0 || c.Last != "" || c.ClientID != "" || c.Claimed != "" {
		return c
	}
	if s, err := callers.Resolve(ctx, b.Registry, c); err == nil && p.Others.Taken(s.ID) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.SharesProcess, c.PID = true, 0
	}
	return c
}

// caller describes the caller of a tool. Values in the call take precedence over the environment,
// which does not change while this process runs.
func (p *Peer) caller(ctx context.Context, req mcp.CallToolRequest) callers.Caller {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := callers.Caller{Client: p.ClientOf(ctx), Remote: p.Client.Remote, Getenv: p.Client.Getenv, PID: p.Client.Process, Last: p.Last}
	if c.Transport = sessions.TransportStdio; p.Client.Remote {
		c.Transport = sessions.TransportHTTP
	}
	if p.SharesProcess {
		c.PID = 0
	}
	c.Alias = strings.TrimSpace(p.Client.env(autoAlias))
	profile, _ := client.Find(c.Client)
	if profile.SessionServer {
		c.ClientID = strings.TrimSpace(p.Client.env(profile.SessionEnv))
	}
	if req.Params.Meta != nil {
		if profile.SessionMeta != "" {
			c.ClientID, _ = req.Params.Meta.AdditionalFields[profile.SessionMeta].(string)
		}
		c.Claimed, _ = req.Params.Meta.AdditionalFields[argumentKey].(string)
	}
	if c.ClientID == "" {
		c.ClientID = profile.SessionOf(c.PID, p.Client.Getenv)
	}
	return c
}

// argumentKey is the key in _meta under which moveSessionArgument stores a session id.
const argumentKey = "c2c/claim"

// moveSessionArgument moves the session id that c2c's plugin has added to a call's arguments into
// _meta, because no tool has that argument.
func (p *Peer) moveSessionArgument(ctx context.Context, req *mcp.CallToolRequest) {
	if req.Params.Meta != nil {
		delete(req.Params.Meta.AdditionalFields, argumentKey) // only moveSessionArgument may set it
	}
	profile, _ := client.Find(p.ClientOf(ctx))
	args, _ := req.Params.Arguments.(map[string]any)
	id, ok := args[profile.SessionArgument].(string)
	if profile.SessionArgument == "" || !ok {
		return
	}
	delete(args, profile.SessionArgument)
	if req.Params.Meta == nil {
		req.Params.Meta = &mcp.Meta{}
	}
	if req.Params.Meta.AdditionalFields == nil {
		req.Params.Meta.AdditionalFields = map[string]any{}
	}
	req.Params.Meta.AdditionalFields[argumentKey] = id
}

// ClientOf returns the name of the client that has sent a call.
func (p *Peer) ClientOf(ctx context.Context) string {
	info := ""
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		info = s.GetClientInfo().Name
	}
	return ClientName(info, p.Client.Configured)
}

// configured returns the client that c2c's configuration names. For a remote client it returns the
// name that the client gives itself.
func (p *Peer) configured(ctx context.Context) string {
	if p.Client.Remote {
		return p.ClientOf(ctx)
	}
	return p.Client.Configured
}

// autoAlias is the variable for the alias of a session that has none yet.
const autoAlias = "C2C_MCP_AUTO_REGISTER_ALIAS"

// EarlyWait bounds RegisterEarly. It is short because the client waits. If registration takes
// longer, the first tool call registers the session.
const EarlyWait = 2 * time.Second

// RegisterEarly registers the session before it has called a tool, so that others find its alias.
// It does so only if the variable autoAlias is set. Without the variable it only looks for the
// session that C2C_MCP_SESSION_ID names, which c2c start has made, and takes its server lock. While
// nobody holds that lock, the terminal of c2c start types the mail itself, as if the person had
// typed it. RegisterEarly does nothing if the client's process has several sessions: only a tool
// call tells which session calls.
func (p *Peer) RegisterEarly(ctx context.Context) {
	c := p.caller(ctx, mcp.CallToolRequest{})
	if c.Alias == "" && p.Client.env("C2C_MCP_SESSION_ID") == "" {
		return
	}
	if profile, _ := client.Find(c.Client); profile.Shared(c.PID, c.Getenv) {
		return
	}
	b, err := p.Open()
	if err != nil {
		return // the first tool call reports the error
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.Cfg.LockWait, EarlyWait))
	defer cancel()
	var s sessions.Session
	if c.Alias == "" {
		s, err = callers.Resolve(ctx, b.Registry, c)
	} else {
		s, err = b.Attach(ctx, c)
	}
	if err == nil {
		p.Remember(b, s)
		p.joinRooms(ctx, b, s)
	}
}

// maxClientName bounds the name of a client that c2c does not know.
const maxClientName = 32

// ClientName returns c2c's name of a client. It looks for the name that the client gives itself
// (info), or else for the name in c2c's configuration. If c2c does not know that name, ClientName
// makes a name from it. It never returns "", which means a plain shell.
func ClientName(info, configured string) string {
	if p, ok := client.ByInfo(info); ok {
		return p.Name
	}
	// Use configured only if info is "", because a client may read a configuration that was written
	// for another client.
	if p, ok := client.Find(configured); ok && info == "" {
		return p.Name
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(cmp.Or(info, configured))), "-")
	if name == sessions.ClientHuman {
		name = "" // the client is a program, not a plain shell
	}
	return cmp.Or(name[:min(len(name), maxClientName)], "mcp")
}

// Remember makes s the session of the peer, and takes the server lock of the session.
func (p *Peer) Remember(b *broker.Broker, s sessions.Session) {
	p.disk.Lock()
	defer p.disk.Unlock()
	if p.Session() == s.ID && p.unlock != nil {
		return
	}
	p.unserve()
	set(p, &p.Last, s.ID)
	p.unlock, _ = b.Locks.Serve(s.ID) // without the lock, only the client's process shows that the session is alive
}

// SetProtocol records the agreed protocol version.
func (p *Peer) SetProtocol(version string) { set(p, &p.protocol, version) }

// maxWarning bounds a warning in an answer, in bytes.
const maxWarning = 300
