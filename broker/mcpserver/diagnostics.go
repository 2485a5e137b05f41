package mcpserver

import (
	"context"
	"errors"
	"os"

	"c2c/broker"
	"c2c/wake"
)

// connection is what a transport knows of the way to a client.
type connection struct {
	Transport string `json:"transport"` // broker.TransportHTTP or TransportStdio
	Why       string `json:"transport_why"`
	Protocol  string `json:"protocol,omitempty"`
	Session   string `json:"mcp_session,omitempty"` // its first characters: who has the whole id can act as its client
	Root      string `json:"root"`
	RootBy    string `json:"root_chosen_by,omitempty"`
	URL       string `json:"daemon_url,omitempty"`
	Version   string `json:"version"`
	PID       int    `json:"pid"`
	Relay     string `json:"permission_relay,omitempty"` // of a client with a channel: whether it tells of its dialogs

	noBell string // why mail cannot ring on it; "": it can, or that is another one's business
}

// diagnostics is how a session can be reached, and how it was.
type diagnostics struct {
	connection
	Alias      string           `json:"alias,omitempty"`
	SID        string           `json:"session_id,omitempty"`
	Client     string           `json:"client"`
	Surface    string           `json:"surface_support"`
	SurfaceWhy string           `json:"surface_why"`
	LastRing   *wake.Ring       `json:"last_ring,omitempty"`
	Doorbells  broker.Doorbells `json:"doorbells"`
}

const (
	stdioWhy = "the client has started a server of c2c, as its configuration says"
	httpWhy  = "the client sends its calls to the HTTP daemon (c2c serve), as its configuration says"
)

// shownID is how much of the id of an MCP session is told.
const shownID = 8

func (p *peer) reached() connection {
	if p.connection != nil {
		return p.connection()
	}
	p.mu.Lock()
	c := connection{Transport: broker.TransportStdio, Why: stdioWhy, Protocol: p.protocol}
	p.mu.Unlock()
	if p.cfg.RootBy != nil {
		c.RootBy = p.cfg.RootBy()
	}
	if p.cfg.Channel && p.cfg.Relay != nil {
		c.Relay = p.cfg.Relay.why()
	}
	return c
}

// speaks keeps the protocol version that was agreed on.
func (p *peer) speaks(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.protocol = version
}

// connection is one over HTTP.
func (h *HTTP) connection(noBell, rootBy, protocol string) connection {
	return connection{Transport: broker.TransportHTTP, Why: httpWhy, Protocol: protocol, RootBy: rootBy, URL: h.cfg.URL, noBell: noBell}
}

func (s *httpSession) connection() connection {
	s.mu.Lock()
	l, by, protocol := s.listener, s.rootBy, s.protocol
	s.mu.Unlock()
	noBell := "the client has no stream of events open (GET at the daemon's URL): mail waits for its next call of a tool"
	if l != nil {
		noBell = l.silence()
	}
	c := s.h.connection(noBell, by, protocol)
	c.Session = s.id[:min(len(s.id), shownID)]
	return c
}

// silence says why the stream has no bell, "" if it has one.
func (l *listener) silence() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard {
		return ""
	}
	return "the client has a stream of events open, and has not answered the ping there: mail waits for its next call of a tool"
}

func (c *toolCall) runtimeDiagnostics(ctx context.Context) (any, error) {
	d := diagnostics{connection: c.reached(), Client: c.caller.Client, Surface: broker.SurfaceDegraded}
	d.Root, d.Version, d.PID = c.b.Root(), broker.Version, os.Getpid()
	s, err := c.b.Resolve(ctx, c.caller)
	if errors.Is(err, broker.ErrNoSession) {
		d.SurfaceWhy = "it has no mailbox yet: call register"
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	d.Alias, d.SID, d.Client = s.Alias, s.ID, s.Client
	if d.Surface, d.SurfaceWhy = c.b.Surface(s); d.Surface == broker.SurfaceDegraded && d.noBell != "" {
		d.SurfaceWhy = d.noBell
	}
	if s.LastRing.Outcome != "" {
		d.LastRing = &s.LastRing
	}
	d.Doorbells, err = c.b.DoorbellsOf(s.ID)
	return d, err
}
