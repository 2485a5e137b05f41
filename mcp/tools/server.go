package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/sessions"
)

// Server is the type of the server that Serve of package mcp runs.
type Server = server.MCPServer

// New makes the MCP server of one client. Serve of package mcp runs the server.
func New(cfg Config) *server.MCPServer {
	if cfg.Silent {
		return server.NewMCPServer("c2c", broker.Version)
	}
	t := NewTools(cfg)
	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, req *mcp.InitializeRequest, res *mcp.InitializeResult) {
		t.Only.SetProtocol(res.ProtocolVersion)
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

// Server makes the MCP server of the tools. The argument more has options that a transport adds.
func (t *Tools) Server(hooks *server.Hooks, more ...server.ServerOption) *server.MCPServer {
	hooks.AddBeforeCallTool(func(ctx context.Context, _ any, req *mcp.CallToolRequest) {
		t.peer(ctx).moveSessionArgument(ctx, req)
	})
	srv := server.NewMCPServer("c2c", broker.Version, append([]server.ServerOption{
		server.WithInstructions(Instructions),
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithToolHandlerMiddleware(t.recover),
		server.WithHooks(hooks),
	}, more...)...)
	hidden := map[string]bool{}
	for _, tool := range Catalog() {
		hidden[tool.Name] = tool.hidden
		srv.AddTool(tool.Listed(), t.answer(tool))
	}
	hooks.AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, res *mcp.ListToolsResult) {
		res.Tools = slices.DeleteFunc(slices.Clone(res.Tools), func(tool mcp.Tool) bool { return hidden[tool.Name] })
	})
	srv.AddPrompt(mcp.NewPrompt(toolPollInbox, mcp.WithPromptDescription("Read the mail that waits for this session")), askToPoll)
	return srv
}

// recover replaces mcp-go's recovery, which would send the text of a panic to the client: that text
// may contain mail.
func (t *Tools) recover(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		perr := daemon.Survive(t.Cfg.Log, "answer a tool call", func() error {
			res, err = next(ctx, req)
			return nil
		})
		return res, cmp.Or(perr, err)
	}
}

// askToPoll returns the text of a prompt. Some clients make a slash command of the prompt:
// /mcp__c2c__poll_inbox. The text contains no mail, because the model takes it for its user's
// words.
func askToPoll(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	const text = "Read the mail that waits for you in c2c: unless it is shown beside this, call c2c's tool poll_inbox until nothing waits. It is from other agents, not from me."
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}

// answer makes the MCP handler of a tool. An error becomes a result that a model can read.
func (t *Tools) answer(tool Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments, err := tool.Arguments(req.Params.Arguments)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		req.Params.Arguments = arguments
		p := t.peer(ctx)
		if t.Cfg.Uninstalled != nil && t.Cfg.Uninstalled(p.configured(ctx), p.Process()) {
			return mcp.NewToolResultError(uninstalled), nil
		}
		b, err := p.Open()
		if err != nil {
			return mcp.NewToolResultError("open the broker: " + err.Error() + "; c2c doctor shows more"), nil
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
		// If the log line cannot be written, the call still succeeds.
		b.Events.Write(ctx, "rpc", "tool", tool.Name, "ok", err == nil)
		if err != nil {
			return mcp.NewToolResultError(advice(err)), nil
		}
		res, err := result(v)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		call.limited(ctx, func(ctx context.Context) error {
			call.addMail(ctx, res)
			return nil
		})
		if profile, _ := client.Find(call.caller.Client); profile.NoArrays && isArray(res) {
			res.Content = slices.Insert(res.Content, 0, mcp.Content(mcp.NewTextContent("c2c:")))
		}
		if w := p.takeWarning(); w != "" {
			res.Content = append(res.Content, mcp.NewTextContent("Tell your user: "+w+"."))
		}
		return res, nil
	}
}

// uninstalled is the answer to each call of a client that still runs the server of an uninstalled
// c2c.
const uninstalled = "c2c was uninstalled while this session ran: its mail waits. Tell your user that c2c install sets c2c up again"

// isArray reports whether the first text of an answer is a JSON array.
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

// advice returns the text of an error and a hint what the model should do next.
func advice(err error) string {
	var unknown *sessions.UnknownAliasError
	switch {
	case errors.As(err, &unknown) && strings.EqualFold(unknown.Alias, toAll):
		return err.Error() + "; only send writes to all"
	case errors.As(err, &unknown) && strings.ContainsAny(strings.Trim(unknown.Alias, " ,;"), " ,;"):
		return err.Error() + "; to takes one alias: call the tool once for each"
	case errors.Is(err, sessions.ErrSelfSend):
		return err.Error() + "; call list to see who else is there"
	case errors.As(err, &unknown) && len(unknown.Closest) > 0:
		return fmt.Sprintf("%v; did you mean %s? list shows all", err, strings.Join(unknown.Closest, " or "))
	case errors.As(err, &unknown):
		return err.Error() + "; call list to see who is there"
	case errors.Is(err, sessions.ErrNoSession):
		return err.Error() + "; call me first"
	case errors.Is(err, broker.ErrNoMessage):
		return err.Error() + "; check the id; an ephemeral message is gone once it was read"
	case errors.Is(err, inbox.ErrFull):
		return err.Error() + "; nothing was stored, send again later"
	case errors.Is(err, atomicfile.ErrLockTimeout):
		return err.Error() + "; try again"
	case errors.Is(err, context.DeadlineExceeded): // a wait for something else than a lock, such as a slow disk
		return strings.ReplaceAll(err.Error(), context.DeadlineExceeded.Error(), "this took too long, and c2c has given up") + "; try again"
	}
	return err.Error()
}
