package mcpserver

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/inbox"
)

// Guest is a client as its transport knows it.
type Guest struct {
	Client  string // the AI program, as far as our configuration says: what it says of itself comes first, if we know it
	Process int    // of the client
	Remote  bool   // this process is no part of the client's, see broker.Caller
	Getenv  func(string) string
	// Open opens the broker, see Config.
	Open func(log inbox.Log) (*broker.Broker, error)
}

// peer is one client as the tools see it, and what they keep for it between two calls.
type peer struct {
	cfg   *Config
	guest Guest
	desk  desk // nil: the transport has no other client
	// connection tells of the transport; nil: it is that of a server that the client has started.
	connection func() connection

	mu       sync.Mutex
	broker   *broker.Broker   // nil before the first call
	left     []*broker.Broker // of a root that was replaced since
	last     string           // the session of the last call
	apart    bool             // another connection of the client's process has the mailbox of that process
	protocol string           // that was agreed on, where the transport does not keep it
	unlock   func() error     // of the server lock of that session, which shows that it is alive

	progress sync.Map // by session id, a progress

	warnMu   sync.Mutex // not mu: opening the broker warns
	warnings []string   // that no answer has told yet
}

// desk is what a transport with many clients knows of the others.
type desk interface {
	// taken says whether another connection has the session now.
	taken(sid string) bool
	// bound is told the session of the connection before the call in which it was found is answered. said: the call named it.
	bound(sid string, said bool) error
	// one lets one connection at a time find its first session, until done is called.
	one() (done func())
}

type peerKey struct{} // in the context of a request, for a transport that has several clients

// withPeer says whose request it is.
func withPeer(ctx context.Context, p *peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// peer is the client behind a request.
func (t *tools) peer(ctx context.Context) *peer {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		return p
	}
	return t.only
}

// open gives the broker of the root as it is now: somebody may have removed it under a live session. The
// old one is not closed, an answer may still be on its way through it.
func (p *peer) open() (*broker.Broker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broker != nil && !p.broker.Replaced() {
		return p.broker, nil
	}
	b, err := p.guest.Open(broker.Tell(p.warn))
	if err == nil {
		if p.broker != nil {
			p.left = append(p.left, p.broker)
		}
		p.broker = b
		p.unserve()
	}
	return b, err
}

// close gives up what the peer has open. No call of it is under way any more.
func (p *peer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unserve()
	for _, b := range append(p.left, p.broker) {
		if b != nil {
			b.Close()
		}
	}
	p.broker, p.left = nil, nil
}

// is says which process the client is.
func (p *peer) is(process int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guest.Process = process
}

// process is that of the client, 0 if it is not known.
func (p *peer) process() int {
	pid, _ := p.processes()
	return pid
}

// processes is process, and whether another connection of it has its mailbox.
func (p *peer) processes() (pid int, apart bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.guest.Process, p.apart
}

// session is that of the last call, "" before the first.
func (p *peer) session() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// leave forgets the session: another connection has it from now on.
func (p *peer) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unserve()
	p.last = ""
}

// rest says no more that the session is alive, until its next call.
func (p *peer) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unserve()
}

// unserve gives up the server lock, if there is one. The caller holds mu.
func (p *peer) unserve() {
	if p.unlock != nil {
		p.unlock()
		p.unlock = nil
	}
}

// warn keeps a warning for the next answer. One is enough: what else is wrong stands in broker.log.
func (p *peer) warn(sentence string) {
	p.warnMu.Lock()
	defer p.warnMu.Unlock()
	if len(p.warnings) == 0 {
		p.warnings = append(p.warnings, strings.ToValidUTF8(sentence[:min(len(sentence), maxWarning)], ""))
	}
}

// takeWarnings gives the warnings that no answer has told yet, and forgets them.
func (p *peer) takeWarnings() []string {
	p.warnMu.Lock()
	defer p.warnMu.Unlock()
	all := p.warnings
	p.warnings = nil
	return all
}

// callerIn is caller, without the process if another connection of that process has its mailbox.
func (p *peer) callerIn(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) broker.Caller {
	c := p.caller(ctx, req)
	if p.desk == nil || c.PID == 0 || c.Last != "" || c.ClientID != "" || c.Claimed != "" {
		return c
	}
	if s, err := b.Resolve(ctx, c); err == nil && p.desk.taken(s.ID) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.apart, c.PID = true, 0
	}
	return c
}

// caller says who calls: what the client says in this very call comes before
// the environment, which is as old as this process.
func (p *peer) caller(ctx context.Context, req mcp.CallToolRequest) broker.Caller {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := broker.Caller{Client: p.clientOf(ctx), Remote: p.guest.Remote, Getenv: p.guest.Getenv, PID: p.guest.Process, Last: p.last}
	if c.Transport = broker.TransportStdio; p.guest.Remote {
		c.Transport = broker.TransportHTTP
	}
	if p.apart {
		c.PID = 0
	}
	if p.guest.Getenv != nil {
		c.Alias = strings.TrimSpace(p.guest.Getenv(autoAlias))
	}
	profile, _ := client.Find(c.Client)
	if profile.SessionServer && p.guest.Getenv != nil {
		c.ClientID = strings.TrimSpace(p.guest.Getenv(profile.SessionEnv))
	}
	if req.Params.Meta != nil {
		if profile.SessionMeta != "" {
			c.ClientID, _ = req.Params.Meta.AdditionalFields[profile.SessionMeta].(string)
		}
		c.Claimed, _ = req.Params.Meta.AdditionalFields[claim].(string)
	}
	if c.ClientID == "" {
		c.ClientID = profile.SessionOf(c.PID, p.guest.Getenv)
	}
	return c
}

// claim is the key in _meta under which takeClaim leaves the session's id.
const claim = "c2c/claim"

// takeClaim takes the argument out of a call that a plugin of ours has put there: no tool has it.
func (p *peer) takeClaim(ctx context.Context, req *mcp.CallToolRequest) {
	if req.Params.Meta != nil {
		delete(req.Params.Meta.AdditionalFields, claim) // nobody else writes it
	}
	profile, _ := client.Find(p.clientOf(ctx))
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
	req.Params.Meta.AdditionalFields[claim] = id
}

// clientOf is the client behind a call.
func (p *peer) clientOf(ctx context.Context) string {
	info := ""
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		info = s.GetClientInfo().Name
	}
	return clientName(info, p.guest.Client)
}

// configured is the client for which c2c was set up here. A remote client says which one it is.
func (p *peer) configured(ctx context.Context) string {
	if p.guest.Remote {
		return p.clientOf(ctx)
	}
	return p.guest.Client
}

// autoAlias is the original's variable for what a session is to be called that was given no name yet.
const autoAlias = "C2C_MCP_AUTO_REGISTER_ALIAS"

// earlyWait is short: the client waits, and the first tool call does it otherwise.
const earlyWait = 2 * time.Second

// registerEarly registers the session before it has called a tool, as the original does with that variable, so
// that others find its alias. A client whose process has several sessions names one only in a call: then the
// first call registers it. Without the variable no session is made, and one that c2c start has made is served from now
// on: mail is not typed there as its person's words.
func (p *peer) registerEarly(ctx context.Context) {
	c := p.caller(ctx, mcp.CallToolRequest{})
	if c.Alias == "" && (c.Getenv == nil || c.Getenv("C2C_MCP_SESSION_ID") == "") {
		return
	}
	if profile, _ := client.Find(c.Client); profile.Shared(c.PID, c.Getenv) {
		return
	}
	b, err := p.open()
	if err != nil {
		return // the first tool call says so
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.cfg.LockWait, earlyWait))
	defer cancel()
	find := b.Attach
	if c.Alias == "" {
		find = b.Resolve
	}
	if s, err := find(ctx, c); err == nil {
		p.remember(b, s)
	}
}

// maxClientName bounds what a client that we do not know is called.
const maxClientName = 32

// clientName is the name of a client that we know, by what it says or else by what our configuration says;
// otherwise a name made of what it says. It is never empty: that would be a plain shell.
func clientName(info, configured string) string {
	if p, ok := client.ByInfo(info); ok {
		return p.Name
	}
	// A configuration may be read by other clients than the one it was written for.
	if p, ok := client.Find(configured); ok && info == "" {
		return p.Name
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(cmp.Or(info, configured))), "-")
	if name == broker.ClientHuman {
		name = "" // a program is none
	}
	return cmp.Or(name[:min(len(name), maxClientName)], "mcp")
}

func (p *peer) remember(b *broker.Broker, s broker.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == s.ID && p.unlock != nil {
		return
	}
	p.unserve()
	p.last = s.ID
	p.unlock, _ = b.Serve(s.ID) // without it, the client's process alone says that the session is alive
}
