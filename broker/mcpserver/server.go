package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/filelock"
)

// Config is what the tools need from the program around them.
type Config struct {
	// Open opens the broker. It is called at the first tool call and not before:
	// clients start throw-away copies of their servers, which must leave no trace.
	Open func() (*broker.Broker, error)
	// Client is the AI program that started us; empty: what it says at initialize.
	Client string
	Getenv func(string) string
	PID    int // the client's process
	// LockWait is how long a call waits for a process that holds a lock; 10 s when zero.
	LockWait time.Duration
	// Channel declares that this server pushes channel notifications.
	Channel bool
}

// lockWait is Config.LockWait by default. No tool waits for anything else.
const lockWait = 10 * time.Second

// Server is what Serve runs.
type Server = server.MCPServer

// tools answers the tool calls of one client.
type tools struct {
	cfg Config

	mu     sync.Mutex
	broker *broker.Broker // nil before the first call
}

// open gives the broker of the root as it is now: somebody may have removed it under a live session. The
// old one is not closed, an answer may still be on its way through it.
func (t *tools) open() (*broker.Broker, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broker != nil && !t.broker.Replaced() {
		return t.broker, nil
	}
	b, err := t.cfg.Open()
	if err == nil {
		t.broker = b
	}
	return b, err
}

// New is the MCP server of one session; Serve runs it.
func New(cfg Config) *server.MCPServer {
	t := &tools{cfg: cfg}
	options := []server.ServerOption{
		server.WithInstructions(instructions),
		server.WithToolCapabilities(false),
		server.WithInputSchemaValidation(),
		server.WithRecovery(),
	}
	if cfg.Channel {
		options = append(options, server.WithExperimental(map[string]any{channelCapability: map[string]any{}}))
	}
	srv := server.NewMCPServer("c2c", broker.Version, options...)
	handlers := t.handlers()
	for _, tool := range catalog() {
		srv.AddTool(tool, t.answer(tool.Name, handlers[tool.Name]))
	}
	return srv
}

// handler makes the answer of one tool: a value for JSON, or a string as it is.
type handler func(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error)

func (t *tools) handlers() map[string]handler {
	return map[string]handler{
		toolRegister: t.register, toolWhoami: t.whoami, toolList: t.list,
		toolSend: t.send, toolSendAll: t.sendAll,
		toolPollInbox: t.pollInbox, toolPeekInbox: t.peekInbox,
		toolHistory: t.history, toolMessageStatus: t.messageStatus,
		toolSweep: t.sweep, toolServerInfo: t.serverInfo, toolTailLog: t.tailLog,
	}
}

// answer makes an MCP handler. An error becomes a result that a model can read.
func (t *tools) answer(name string, h handler) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b, err := t.open()
		if err != nil {
			return mcp.NewToolResultError("open the broker: " + err.Error() + "; c2c doctor tells more"), nil
		}
		callCtx, cancel := context.WithTimeout(ctx, cmp.Or(t.cfg.LockWait, lockWait))
		defer cancel()
		v, err := h(callCtx, b, req)
		// A log line that cannot be written is no reason to refuse the call.
		b.LogEvent(ctx, "rpc", broker.Note{Name: "tool", Value: name}, broker.Note{Name: "ok", Value: err == nil})
		if err != nil {
			return mcp.NewToolResultError(advice(err)), nil
		}
		switch v := v.(type) {
		case *mcp.CallToolResult:
			return v, nil
		case string:
			return mcp.NewToolResultText(v), nil
		}
		text, err := toJSON(v)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(text), nil
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
		return fmt.Sprintf("%v; the closest are %s", err, strings.Join(unknown.Closest, ", "))
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
	c := broker.Caller{Client: t.cfg.Client, Getenv: t.cfg.Getenv}
	if c.Client == "" {
		if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
			c.Client = clientName(s.GetClientInfo().Name)
		}
	}
	if m := req.Params.Meta; m != nil && c.Client == "codex" {
		c.ClientID, _ = m.AdditionalFields["threadId"].(string)
	}
	if c.Client != "" {
		c.PID = t.cfg.PID
	}
	return c
}

func clientName(info string) string {
	switch {
	case strings.HasPrefix(info, "claude-code"):
		return "claude"
	case strings.HasPrefix(info, "codex"):
		return "codex"
	}
	return ""
}

// self is the caller's session, registered if it was not.
func (t *tools) self(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (broker.Session, error) {
	s, err := b.Attach(ctx, t.caller(ctx, req))
	if err != nil {
		return s, err
	}
	return s, own(req, s)
}

// own refuses a session_id in the call that is not the caller's: it is the model's word, and no proof.
func own(req mcp.CallToolRequest, s broker.Session) error {
	if sid := req.GetString("session_id", ""); sid != "" && sid != s.ID {
		return fmt.Errorf("session_id %q is not yours; leave it out, yours is %q", sid, s.ID)
	}
	return nil
}

func (t *tools) mailbox(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (*inbox.Mailbox, error) {
	s, err := t.self(ctx, b, req)
	if err != nil {
		return nil, err
	}
	return b.Mailbox(s.ID)
}
