package tools

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// sweepGrace is the time from the end of a session until the tool may sweep it.
const sweepGrace = 7 * 24 * time.Hour

func init() {
	me := entry("me", (*toolCall).me,
		"Your alias. Choose another, or say what you do (role).",
		str("alias", ""),
		str("role", ""),
		boolean("unattended", "").quiet(), sessionID(),
	)
	add(me, me.old("whoami", nil), me.old("register", nil))
	add(onlyReads(entry("list", (*toolCall).listSessions,
		"List the sessions that you can write to.",
		boolean("alive_only", "").quiet(),
	)))
	add(hidden("sweep", (*toolCall).sweep), hidden("server_info", (*toolCall).serverInfo), hidden("tail_log", (*toolCall).tailLog, limit()))
}

// me makes the caller's session if necessary, changes what the call says, and shows the session.
func (c *toolCall) me(ctx context.Context) (any, error) {
	if c.req.GetString("session_id", "") != "" {
		if _, err := c.attach(ctx); err != nil {
			return nil, err
		}
	}
	role := c.req.GetString("role", "")
	if err := sessions.CheckRole(role); err != nil {
		return nil, err
	}
	s, err := c.find(ctx, func(ctx context.Context, caller callers.Caller) (sessions.Session, error) {
		return c.b.Register(ctx, caller, c.req.GetString("alias", ""))
	})
	if err != nil {
		return nil, err
	}
	if err := c.b.Describe(ctx, s.ID, role); err != nil {
		return nil, err
	}
	s.Role = cmp.Or(role, s.Role)
	if on, said := c.req.GetArguments()["unattended"].(bool); said {
		if err := c.b.SetUnattended(ctx, s.ID, on); err != nil {
			return nil, err
		}
		s.Unattended = on
	}
	shown, err := c.b.Look(s)
	return self{s.Alias, s.ID, s.Client, shown.Role, s.KnownBy, shown.Surface, shown.Note, c.b.AliasOf(ctx, s.Facts.StartedBy)}, err
}

// self is what a model is told of its own session: fields of sessions.Listed.
type self struct {
	Alias     string `json:"alias"`
	ID        string `json:"session_id"`
	Client    string `json:"client,omitempty"`
	Role      string `json:"role,omitempty"`
	KnownBy   string `json:"known_by,omitempty"`
	Surface   string `json:"surface_support,omitempty"`
	Note      string `json:"note,omitempty"`
	StartedBy string `json:"started_by,omitempty"`
}

func (c *toolCall) listSessions(ctx context.Context) (any, error) {
	all, err := c.b.List(ctx)
	if err != nil {
		return nil, err
	}
	if c.req.GetBool("alive_only", false) {
		all = slices.DeleteFunc(all, func(r sessions.Listed) bool { return r.State == sessions.Absent })
	}
	remote, err := c.b.RemoteSessions()
	if err != nil {
		c.b.Log.Warn("sessions on other machines are not listed", "err", err)
	}
	all = append(all, remote...)
	for i := range all {
		all[i] = inShort(all[i])
	}
	return listing(c, all, 0, "were left out: the command c2c list shows all; alive_only lists fewer.", nil, "")
}

// inShort leaves out what only a person has a use for.
func inShort(s sessions.Listed) sessions.Listed {
	s.PID, s.Registered, s.Oldest, s.LastRead, s.LastRing, s.Now.Known = 0, 0, time.Time{}, time.Time{}, wake.Ring{}, ""
	return s
}

func (c *toolCall) sweep(ctx context.Context) (any, error) {
	return moves.Sweep(ctx, c.b.Registry, sweepGrace)
}

func (c *toolCall) serverInfo(ctx context.Context) (any, error) {
	return map[string]any{"name": "c2c", "version": broker.Version, "root": c.b.Root(), "pid": os.Getpid()}, nil
}

func (c *toolCall) tailLog(ctx context.Context) (any, error) {
	lines, err := c.b.Events.Tail(c.limit())
	if err != nil {
		return nil, err
	}
	first := c.lastThatFit(len(lines), func(i int) int { return len(lines[i]) })
	return listing(c, lines[first:], first, "were left out: older lines are in broker.log, in the root that server_info names.", nil, "")
}
