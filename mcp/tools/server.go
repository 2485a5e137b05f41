package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/filelock"
	"c2c/process/survive"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/registry"
	"c2c/sessions/turns"
)

// Config is what the tools need from the program around them.
type Config struct {
	// Open opens the broker. It is called at the first tool call and not before:
	// clients start throw-away copies of their servers, which must leave no trace.
	// Its warnings are told with the next answer.
	Open func(log inbox.Log) (*broker.Broker, error)
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
	// Relay relays the permission dialogs of a client with a channel; nil: nobody does. Its owner closes it.
	Relay *Relay
	// Uninstalled says whether c2c was taken out of the client with this process since it started: then each call is
	// refused. nil: never.
	Uninstalled func(client string, pid int) bool
	// RootBy says how the root was chosen; nil: it is not known.
	RootBy func() string
	Log    *slog.Logger // of mistakes of ours; nil discards
	// Stateless answers clients of 2026-07-28 alone, with the same tools; nil: nobody does.
	Stateless interface{ Attach(t *Tools) }
	// Silent leaves everything to another server of ours: this one has no tools, and takes no session.
	Silent bool
}

// lockWait is Config.LockWait by default. No tool but ask waits for anything else.
const lockWait = 10 * time.Second

// maxWarning bounds what a warning adds to an answer, in bytes.
const maxWarning = 300

// Server is what Serve runs.
type Server = server.MCPServer

// Tools answers the tool calls.
type Tools struct {
	Cfg  Config
	Only *Peer // the client of a transport that has one; the others say whose request it is
}

func NewTools(cfg Config) *Tools {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tools{Cfg: cfg}
	t.Only = &Peer{Cfg: &t.Cfg, Client: Client{Configured: cfg.Client, Process: cfg.PID, Getenv: cfg.Getenv, Open: cfg.Open}}
	return t
}

// New is the MCP server of one session; Serve runs it.
func New(cfg Config) *server.MCPServer {
	if cfg.Silent {
		return server.NewMCPServer("c2c", broker.Version)
	}
	t := NewTools(cfg)
	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, req *mcp.InitializeRequest, res *mcp.InitializeResult) {
		t.Only.Speaks(res.ProtocolVersion)
		if cfg.Initialized != nil {
			cfg.Initialized(ClientName(req.Params.ClientInfo.Name, cfg.Client))
		}
		t.Only.RegisterEarly(ctx)
	})
	var options []server.ServerOption
	if cfg.Channel {
		options = append(options, server.WithExperimental(map[string]any{channelCapability: map[string]any{}}))
	}
	srv := t.Server(hooks, options...)
	if cfg.Channel && cfg.Relay != nil {
		cfg.Relay.Attach(t, srv, hooks)
	}
	if cfg.Stateless != nil {
		cfg.Stateless.Attach(t)
	}
	return srv
}

// Server makes the MCP server of the tools, with more options of its transport.
func (t *Tools) Server(hooks *server.Hooks, more ...server.ServerOption) *server.MCPServer {
	hooks.AddBeforeCallTool(func(ctx context.Context, _ any, req *mcp.CallToolRequest) {
		t.peer(ctx).takeClaim(ctx, req)
	})
	srv := server.NewMCPServer("c2c", broker.Version, append([]server.ServerOption{
		server.WithInstructions(Instructions),
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithToolHandlerMiddleware(t.recover),
		server.WithHooks(hooks),
	}, more...)...)
	for _, tool := range Catalog() {
		srv.AddTool(tool.Listed(), t.answer(tool))
	}
	srv.AddPrompt(mcp.NewPrompt(toolPollInbox, mcp.WithPromptDescription("Read the mail that waits for this session")), askToPoll)
	return srv
}

// recover stands in for mcp-go's own, which tells the client the words of a panic: they may be those of somebody's message.
func (t *Tools) recover(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		perr := survive.Call(t.Cfg.Log, "answer a tool call", func() error {
			res, err = next(ctx, req)
			return nil
		})
		return res, cmp.Or(perr, err)
	}
}

// askToPoll is the text of a slash command, where the client makes one of each prompt: /mcp__c2c__poll_inbox. The
// model gets it as words of its user, so no message of a peer stands in it.
func askToPoll(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	const text = "Read the mail that waits for you in c2c: unless it is shown beside this, call c2c's tool poll_inbox until nothing waits. It is from other agents, not from me."
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}

// answer makes an MCP handler. An error becomes a result that a model can read.
func (t *Tools) answer(tool Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := tool.Check(req.Params.Arguments); err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		p := t.peer(ctx)
		if t.Cfg.Uninstalled != nil && t.Cfg.Uninstalled(p.configured(ctx), p.Process()) {
			return mcp.NewToolResultError(uninstalled), nil
		}
		b, err := p.Open()
		if err != nil {
			return mcp.NewToolResultError("open the broker: " + err.Error() + "; c2c doctor tells more"), nil
		}
		call := &toolCall{Peer: p, b: b, req: req, caller: p.callerIn(ctx, b, req)}
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
		b.Events.Write(ctx, "rpc", "tool", tool.Name, "ok", err == nil)
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
		if profile, _ := client.Find(call.caller.Client); profile.NoArrays && isArray(res) {
			res.Content = slices.Insert(res.Content, 0, mcp.Content(mcp.NewTextContent("c2c:")))
		}
		for _, w := range p.takeWarnings() {
			res.Content = append(res.Content, mcp.NewTextContent("Tell your user: "+w+"."))
		}
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
	text, err := ToJSON(v)
	return mcp.NewToolResultText(text), err
}

func ToJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// advice says what went wrong and what to do next.
func advice(err error) string {
	var unknown *sessions.UnknownAliasError
	switch {
	case errors.As(err, &unknown) && strings.EqualFold(unknown.Alias, "all"):
		return err.Error() + "; send_all writes to everybody"
	case errors.As(err, &unknown) && strings.ContainsAny(strings.Trim(unknown.Alias, " ,;"), " ,;"):
		return err.Error() + "; it takes one alias: call it once for each"
	case errors.Is(err, sessions.ErrSelfSend):
		return err.Error() + "; call list to see who else is there"
	case errors.As(err, &unknown) && len(unknown.Closest) > 0:
		return fmt.Sprintf("%v; did you mean %s? list shows all", err, strings.Join(unknown.Closest, " or "))
	case errors.As(err, &unknown):
		return err.Error() + "; call list to see who is there"
	case errors.Is(err, registry.ErrFull):
		return err.Error() + "; until then this session has no mailbox: tell your user"
	case errors.Is(err, sessions.ErrNoSession):
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

// toolCall is one call of a tool.
type toolCall struct {
	*Peer
	b      *broker.Broker
	req    mcp.CallToolRequest
	caller callers.Caller

	handsMail bool // its answer has mail in it, which is acknowledged once that is written
}

// attach is the caller's session, registered if it was not.
func (c *toolCall) attach(ctx context.Context) (sessions.Session, error) {
	return c.find(ctx, c.b.Attach)
}

// find is the session that find finds or makes for the caller.
func (c *toolCall) find(ctx context.Context, find func(context.Context, callers.Caller) (sessions.Session, error)) (sessions.Session, error) {
	if c.Others != nil && c.caller.Last == "" {
		defer c.Others.One()()
		c.caller = c.callerIn(ctx, c.b, c.req)
	}
	s, err := find(ctx, c.caller)
	if err != nil {
		return s, err
	}
	c.Remember(c.b, s)
	if c.Others != nil {
		if err := c.Others.Bound(s.ID, c.caller.ClientID != ""); err != nil {
			return s, fmt.Errorf("keep whose session this connection is: %w", err)
		}
	}
	c.caller.Last = s.ID
	if err := turns.SawAnswer(c.b.Registry, s.ID, time.Now().Add(-turns.AnswerTick)); err != nil { // its model has called us
		c.Cfg.Log.Warn("an answer of a session's model is not recorded", "session", s.ID, "err", err)
	}
	return s, c.own(s)
}

func (c *toolCall) mailbox(ctx context.Context) (s sessions.Session, box *inbox.Mailbox, err error) {
	if s, err = c.attach(ctx); err == nil {
		box, err = c.b.Mailbox(s.ID)
	}
	return s, box, err
}

// own refuses a session_id in the call that is not the caller's: it is the model's word, and no proof.
func (c *toolCall) own(s sessions.Session) error {
	if sid := c.req.GetString("session_id", ""); sid != "" && sid != s.ID {
		return fmt.Errorf("session_id %q is not yours; leave it out, yours is %q", sid, s.ID)
	}
	return nil
}
