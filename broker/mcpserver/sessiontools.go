package mcpserver

import (
	"context"
	"encoding/json"
	"os"
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
	t.remember(s)
	if err := b.Describe(ctx, s.ID, req.GetString("role", "")); err != nil {
		return nil, err
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

type session struct {
	ID           string  `json:"session_id"`
	Alias        string  `json:"alias"`
	PID          int     `json:"pid,omitempty"`
	Alive        *bool   `json:"alive"` // null: not known
	RegisteredAt float64 `json:"registered_at,omitempty"`
	Client       string  `json:"client,omitempty"`
	Role         string  `json:"role,omitempty"`
}

func (t *tools) list(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	all, err := b.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	rows := []session{}
	for _, s := range all {
		if s.State == broker.Absent && req.GetBool("alive_only", false) {
			continue
		}
		row := session{s.ID, s.Alias, s.PID, nil, seconds(s.Registered), s.Client, s.Role}
		if s.State != broker.Unknown {
			alive := s.State == broker.Alive
			row.Alive = &alive
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (t *tools) sweep(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	swept, err := b.Sweep(ctx, sweepGrace)
	if err != nil {
		return nil, err
	}
	rows := []map[string]string{}
	for _, s := range swept.Sessions {
		rows = append(rows, map[string]string{"session_id": s.ID, "alias": s.Alias})
	}
	return map[string]any{"dropped_regs": rows, "deleted_inboxes": len(rows), "preserved_messages": swept.Messages}, nil
}

func (t *tools) serverInfo(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	return map[string]any{"name": "c2c", "version": broker.Version, "root": b.Root(), "pid": os.Getpid()}, nil
}

func (t *tools) tailLog(ctx context.Context, b *broker.Broker, req mcp.CallToolRequest) (any, error) {
	lines, err := b.TailLog(ctx, req.GetInt("limit", 50))
	if lines == nil {
		lines = []json.RawMessage{}
	}
	return lines, err
}
