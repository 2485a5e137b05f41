package tools

import (
	"context"
	"errors"
	"os"

	"c2c/broker"
	"c2c/client"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// diagnostics reports how c2c can reach a session, and how c2c last rang it.
type diagnostics struct {
	Connection
	Alias      string             `json:"alias,omitempty"`
	SID        string             `json:"session_id,omitempty"`
	Client     string             `json:"client"`
	Surface    string             `json:"surface_support"`
	SurfaceWhy string             `json:"surface_why"`
	LastRing   *wake.Ring         `json:"last_ring,omitempty"`
	Doorbells  sessions.Doorbells `json:"doorbells"`
}

const (
	stdioWhy = "the client has started a server of c2c, as its configuration says"
	HTTPWhy  = "the client sends its calls to the HTTP daemon (c2c serve), as its configuration says"
)

// fallback explains how a client can have the tools without the HTTP daemon. For a client that c2c
// knows, the command "c2c install" sets that up.
func fallback(name string) string {
	install := "c2c install --print mcp prints the entry that replaces it"
	if profile, known := client.Find(name); known {
		install = "c2c install " + profile.Name + " sets it up over stdio"
	}
	return "if no daemon answers: c2c serve start. To do without it: take the entry with the daemon's URL out of the client's configuration; then " +
		install + ". Restart the client. Mail that waits goes on waiting for its alias"
}

// ShownID is how many characters of an MCP session's id c2c shows.
const ShownID = 8

func (p *Peer) reached() Connection {
	if p.Connection != nil {
		return p.Connection()
	}
	p.mu.Lock()
	c := Connection{Transport: sessions.TransportStdio, Why: stdioWhy, Protocol: p.protocol}
	p.mu.Unlock()
	if p.Cfg.RootBy != nil {
		c.RootBy = p.Cfg.RootBy()
	}
	if p.Cfg.Channel && p.Cfg.Relay != nil {
		c.Relay = relayWhy
	}
	return c
}

func init() { add(hidden("runtime_diagnostics", (*toolCall).runtimeDiagnostics)) }

func (c *toolCall) runtimeDiagnostics(ctx context.Context) (any, error) {
	d := diagnostics{Connection: c.reached(), Client: c.caller.Client, Surface: sessions.SurfaceDegraded}
	d.Root, d.Version, d.PID = c.b.Root(), broker.Version, os.Getpid()
	if d.Transport == sessions.TransportHTTP {
		d.Fallback = fallback(c.caller.Client)
	}
	s, err := callers.Resolve(ctx, c.b.Registry, c.caller)
	if errors.Is(err, sessions.ErrNoSession) {
		d.SurfaceWhy = "this session has no mailbox yet: call me"
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	d.Alias, d.SID, d.Client = s.Alias, s.ID, s.Client
	if d.Surface, d.SurfaceWhy = c.b.Prober().Surface(s); d.Surface == sessions.SurfaceDegraded && d.NoBell != "" {
		d.SurfaceWhy = d.NoBell
	}
	if s.LastRing.Outcome != "" {
		d.LastRing = &s.LastRing
	}
	d.Doorbells, err = c.b.Events.DoorbellsOf(s.ID)
	return d, err
}
