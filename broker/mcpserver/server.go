package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/inbox"
	"c2c/inbox/filelock"
)

// Config is what the tools need from the program around them.
type Config struct {
	// Open opens the broker. It is called at the first tool call and not before:
	// clients start throw-away copies of their servers, which must leave no trace.
	// Its warnings are told with the next answer.
	Open func(log *slog.Logger) (*broker.Broker, error)
	// Client is the AI program that started us, as far as our configuration says. What it says at initialize
	// comes first, if we know it.
	Client string
	Getenv func(string) string
	PID    int // the client's process
	// Initialized is told the client's name, or what it calls itself; nil for nobody. It must not block.
	Initialized func(client string)
	// LockWait is how long a call waits for a process that holds a lock. When zero: 10 s, at initialize 2 s; only tests
	// set it.
	LockWait time.Duration
	// Progress is the time between two notifications that a call goes on; only tests set it.
	Progress time.Duration
	// Channel declares that this server pushes channel notifications.
	Channel bool
	// Uninstalled says whether c2c was taken out of the client since it started us: then each call is refused. nil: never.
	Uninstalled func() bool
	// Silent leaves everything to another server of ours: this one has no tools, and takes no session.
	Silent bool
}

// lockWait is Config.LockWait by default. No tool but ask waits for anything else.
const lockWait = 10 * time.Second

// maxWarning bounds what a warning adds to an answer, in bytes.
const maxWarning = 300

// Server is what Serve runs.
type Server = server.MCPServer

// tools answers the tool calls of one client.
type tools struct {
	cfg Config

	mu     sync.Mutex
	broker *broker.Broker // nil before the first call
	last   string         // the session of the last call
	unlock func() error   // of the server lock of that session, which shows that it is alive

	progress sync.Map // by session id, a progress

	warnMu   sync.Mutex // not mu: opening the broker warns
	warnings []string   // that no answer has told yet
}

// open gives the broker of the root as it is now: somebody may have removed it under a live session. The
// old one is not closed, an answer may still be on its way through it.
func (t *tools) open() (*broker.Broker, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broker != nil && !t.broker.Replaced() {
		return t.broker, nil
	}
	b, err := t.cfg.Open(broker.Tell(t.warn))
	if err == nil {
		t.broker = b
		if t.unlock != nil {
			t.unlock()
			t.unlock = nil
		}
	}
	return b, err
}

// New is the MCP server of one session; Serve runs it.
func New(cfg Config) *server.MCPServer {
	if cfg.Silent {
		return server.NewMCPServer("c2c", broker.Version)
	}
	t := &tools{cfg: cfg}
	options := []server.ServerOption{
		server.WithInstructions(instructions),
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithRecovery(),
	}
	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, req *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		if cfg.Initialized != nil {
			cfg.Initialized(clientName(req.Params.ClientInfo.Name, cfg.Client))
		}
		t.registerEarly(ctx)
	})
	hooks.AddBeforeCallTool(t.takeClaim)
	options = append(options, server.WithHooks(hooks))
	if cfg.Channel {
		options = append(options, server.WithExperimental(map[string]any{channelCapability: map[string]any{}}))
	}
	srv := server.NewMCPServer("c2c", broker.Version, options...)
	for _, tool := range catalog() {
		srv.AddTool(tool.Tool, t.answer(tool))
	}
	srv.AddPrompt(mcp.NewPrompt(toolPollInbox, mcp.WithPromptDescription("Read the mail that waits for this session")), askToPoll)
	return srv
}

// askToPoll is the text of a slash command, where the client makes one of each prompt: /mcp__c2c__poll_inbox. The
// model gets it as words of its user, so no message of a peer stands in it.
func askToPoll(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	const text = "Read the mail that waits for you in c2c: unless it is shown beside this, call c2c's tool poll_inbox until nothing waits. It is from other agents, not from me."
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}

// answer makes an MCP handler. An error becomes a result that a model can read.
func (t *tools) answer(tool tool) server.ToolHandlerFunc {
	check := checker(tool.Tool)
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := check(req.Params.Arguments); err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if t.cfg.Uninstalled != nil && t.cfg.Uninstalled() {
			return mcp.NewToolResultError(uninstalled), nil
		}
		b, err := t.open()
		if err != nil {
			return mcp.NewToolResultError("open the broker: " + err.Error() + "; c2c doctor tells more"), nil
		}
		call := &toolCall{tools: t, b: b, req: req, caller: t.caller(ctx, req)}
		var v any
		handle := func(ctx context.Context) (err error) {
			v, err = tool.handle(call, ctx)
			return err
		}
		if tool.patient {
			err = handle(ctx)
		} else {
			err = call.limited(ctx, handle)
		}
		// A log line that cannot be written is no reason to refuse the call.
		b.LogEvent(ctx, "rpc", broker.Note{Name: "tool", Value: tool.Name}, broker.Note{Name: "ok", Value: err == nil})
		if err != nil {
			return mcp.NewToolResultError(advice(err)), nil
		}
		res, err := result(v)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		call.limited(ctx, func(ctx context.Context) error {
			call.addMail(ctx, tool.Name, res)
			return nil
		})
		if p, _ := client.Find(call.caller.Client); p.NoArrays && isArray(res) {
			res.Content = slices.Insert(res.Content, 0, mcp.Content(mcp.NewTextContent("c2c:")))
		}
		t.warnMu.Lock()
		defer t.warnMu.Unlock()
		for _, w := range t.warnings {
			res.Content = append(res.Content, mcp.NewTextContent("Tell your user: "+w+"."))
		}
		t.warnings = nil
		return res, nil
	}
}

// uninstalled is the answer of a server that its client still runs.
const uninstalled = "c2c was uninstalled while this session ran: its mail waits. Tell your user that c2c install brings it back"

// isArray says whether the first text of an answer is a JSON array.
func isArray(res *mcp.CallToolResult) bool {
	text, ok := res.Content[0].(mcp.TextContent)
	return ok && strings.HasPrefix(text.Text, "[")
}

func result(v any) (*mcp.CallToolResult, error) {
	switch v := v.(type) {
	case *mcp.CallToolResult:
		return v, nil
	case string:
		return mcp.NewToolResultText(v), nil
	}
	text, err := toJSON(v)
	return mcp.NewToolResultText(text), err
}

// warn keeps a warning for the next answer. One is enough: what else is wrong stands in broker.log.
func (t *tools) warn(sentence string) {
	t.warnMu.Lock()
	defer t.warnMu.Unlock()
	if len(t.warnings) == 0 {
		t.warnings = append(t.warnings, strings.ToValidUTF8(sentence[:min(len(sentence), maxWarning)], ""))
	}
}

func toJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// advice says what went wrong and what to do next.
func advice(err error) string {
	var unknown *broker.UnknownAliasError
	switch {
	case errors.As(err, &unknown) && len(unknown.Closest) > 0:
		return fmt.Sprintf("%v; did you mean %s? list shows all", err, strings.Join(unknown.Closest, " or "))
	case errors.As(err, &unknown):
		return err.Error() + "; call list to see who is there"
	case errors.Is(err, broker.ErrNoSession):
		return err.Error() + "; call register first"
	case errors.Is(err, broker.ErrNoMessage):
		return err.Error() + "; check the id, or it was ephemeral and has been read"
	case errors.Is(err, inbox.ErrFull):
		return err.Error() + "; nothing was stored, send again later"
	case errors.Is(err, filelock.ErrTimeout):
		return err.Error() + "; try again"
	}
	return err.Error()
}

// caller says who calls: what the client says in this very call comes before
// the environment, which is as old as this process.
func (t *tools) caller(ctx context.Context, req mcp.CallToolRequest) broker.Caller {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := broker.Caller{Client: t.clientOf(ctx), Getenv: t.cfg.Getenv, PID: t.cfg.PID, Last: t.last}
	if t.cfg.Getenv != nil {
		c.Alias = strings.TrimSpace(t.cfg.Getenv(autoAlias))
	}
	p, _ := client.Find(c.Client)
	if p.SessionServer && t.cfg.Getenv != nil {
		c.ClientID = strings.TrimSpace(t.cfg.Getenv(p.SessionEnv))
	}
	if req.Params.Meta != nil {
		if p.SessionMeta != "" {
			c.ClientID, _ = req.Params.Meta.AdditionalFields[p.SessionMeta].(string)
		}
		c.Claimed, _ = req.Params.Meta.AdditionalFields[claim].(string)
	}
	if c.ClientID == "" {
		c.ClientID = p.SessionOf(c.PID, t.cfg.Getenv)
	}
	return c
}

// claim is the key in _meta under which takeClaim leaves the session's id.
const claim = "c2c/claim"

// takeClaim takes the argument out of a call that a plugin of ours has put there: no tool has it.
func (t *tools) takeClaim(ctx context.Context, _ any, req *mcp.CallToolRequest) {
	if req.Params.Meta != nil {
		delete(req.Params.Meta.AdditionalFields, claim) // nobody else writes it
	}
	p, _ := client.Find(t.clientOf(ctx))
	args, _ := req.Params.Arguments.(map[string]any)
	id, ok := args[p.SessionArgument].(string)
	if p.SessionArgument == "" || !ok {
		return
	}
	delete(args, p.SessionArgument)
	if req.Params.Meta == nil {
		req.Params.Meta = &mcp.Meta{}
	}
	if req.Params.Meta.AdditionalFields == nil {
		req.Params.Meta.AdditionalFields = map[string]any{}
	}
	req.Params.Meta.AdditionalFields[claim] = id
}

// clientOf is the client behind a call.
func (t *tools) clientOf(ctx context.Context) string {
	info := ""
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		info = s.GetClientInfo().Name
	}
	return clientName(info, t.cfg.Client)
}

// autoAlias is the original's variable for what a session is to be called that was given no name yet.
const autoAlias = "C2C_MCP_AUTO_REGISTER_ALIAS"

// earlyWait is short: the client waits, and the first tool call does it otherwise.
const earlyWait = 2 * time.Second

// registerEarly registers the session before it has called a tool, as the original does with that variable, so
// that others find its alias. A client whose process has several sessions names one only in a call: then the
// first call registers it. Without the variable no session is made, and one that c2c start has made is served from now
// on: mail is not typed there as its person's words.
func (t *tools) registerEarly(ctx context.Context) {
	c := t.caller(ctx, mcp.CallToolRequest{})
	if c.Alias == "" && (c.Getenv == nil || c.Getenv("C2C_MCP_SESSION_ID") == "") {
		return
	}
	if p, _ := client.Find(c.Client); p.Shared(c.PID, c.Getenv) {
		return
	}
	b, err := t.open()
	if err != nil {
		return // the first tool call says so
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.cfg.LockWait, earlyWait))
	defer cancel()
	find := b.Attach
	if c.Alias == "" {
		find = b.Resolve
	}
	if s, err := find(ctx, c); err == nil {
		t.remember(b, s)
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

// toolCall is one call of a tool.
type toolCall struct {
	*tools
	b      *broker.Broker
	req    mcp.CallToolRequest
	caller broker.Caller

	settled bool // AfterWrite was called for its answer
}

// attach is the caller's session, registered if it was not.
func (c *toolCall) attach(ctx context.Context) (broker.Session, error) {
	s, err := c.b.Attach(ctx, c.caller)
	if err != nil {
		return s, err
	}
	c.remember(c.b, s)
	c.caller.Last = s.ID
	return s, c.own(s)
}

func (c *toolCall) mailbox(ctx context.Context) (s broker.Session, box *inbox.Mailbox, err error) {
	if s, err = c.attach(ctx); err == nil {
		box, err = c.b.Mailbox(s.ID)
	}
	return s, box, err
}

// own refuses a session_id in the call that is not the caller's: it is the model's word, and no proof.
func (c *toolCall) own(s broker.Session) error {
	if sid := c.req.GetString("session_id", ""); sid != "" && sid != s.ID {
		return fmt.Errorf("session_id %q is not yours; leave it out, yours is %q", sid, s.ID)
	}
	return nil
}

func (t *tools) remember(b *broker.Broker, s broker.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == s.ID && t.unlock != nil {
		return
	}
	if t.unlock != nil {
		t.unlock()
	}
	t.last = s.ID
	t.unlock, _ = b.Serve(s.ID) // without it, the client's process alone says that the session is alive
}
