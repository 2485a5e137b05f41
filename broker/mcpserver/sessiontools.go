package mcpserver

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
)

// sweepGrace is how long a session may be gone before the tool sweeps it.
const sweepGrace = 7 * 24 * time.Hour

func (t *tools) register(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	if req.GetString("session_id", "") != "" {
		if _, err := t.self(ctx, b, req); err != nil {
			return nil, err
		}
	}
	s, err := b.Register(ctx, t.caller(ctx, req), req.GetString("alias", ""))
	if err != nil {
		return nil, err
	}
	t.remember(b, s)
	if err := b.Describe(ctx, s.ID, req.GetString("role", "")); err != nil {
		return nil, err
	}
	if on, said := req.GetArguments()["unattended"].(bool); said {
		if err := b.SetUnattended(ctx, s.ID, on); err != nil {
			return nil, err
		}
	}
	return "registered " + s.Alias, nil
}

func (t *tools) whoami(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	s, err := b.Resolve(ctx, t.caller(ctx, req))
	if err == nil {
		err = own(req, s)
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{"alias": s.Alias, "session_id": s.ID}, nil
}

func (t *tools) list(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	all, err := b.List(ctx)
	if err != nil {
		return nil, err
	}
	if req.GetBool("alive_only", false) {
		all = slices.DeleteFunc(all, func(r broker.Listed) bool { return r.State == broker.Absent })
	}
	return rows(t.room(t.caller(ctx, req).Client), all, 0, "the command c2c list shows all, alive_only fewer.")
}

func (t *tools) sweep(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	return b.Sweep(ctx, sweepGrace)
}

func (t *tools) serverInfo(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	return map[string]any{"name": "c2c", "version": broker.Version, "root": b.Root(), "pid": os.Getpid()}, nil
}

func (t *tools) tailLog(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	lines, err := b.TailLog(ctx, req.GetInt("limit", 50))
	if err != nil {
		return nil, err
	}
	room, size := t.room(t.caller(ctx, req).Client), len("[]")
	first := len(lines)
	for first > 0 && size+len(lines[first-1])+len(",") <= room { // the newest that fit
		first--
		size += len(lines[first]) + len(",")
	}
	return rows(room, lines[first:], first, "older lines are in broker.log, in the root that server_info names.")
}
