package tools

import (
	"context"
	"log/slog"
	"time"

	"c2c/broker"
	"c2c/inbox"
)

// Config is what the tools need from the program around them.
type Config struct {
	// Open opens the broker. The first tool call calls it, nothing before that:
	// clients start throw-away copies of their servers, which must leave no trace.
	// Its warnings go into the next answer.
	Open func(log inbox.Log) (*broker.Broker, error)
	// Client is the AI program that has started this server, by c2c's own configuration. The name that the program gives at
	// initialize takes precedence if c2c knows it.
	Client string
	Getenv func(string) string
	PID    int // the client's process
	// Initialized, if set, is called with the client's name, or with the name that it gives itself. It must not block.
	Initialized func(client string)
	// LockWait is how long a call waits for a lock. Zero: 10 s, at initialize 2 s. Only tests set it.
	LockWait time.Duration
	// Progress is the time between two progress notifications of a call. Only tests set it.
	Progress time.Duration
	// Channel declares that this server pushes channel notifications.
	Channel bool
	// Relay, if set, relays the permission dialogs of a client with a channel. The caller closes it.
	Relay *Relay
	// Uninstalled, if set, reports whether c2c was uninstalled from the client since this process of the client started. If so,
	// each call returns an error.
	Uninstalled func(client string, pid int) bool
	// RootBy names what chose the root; nil: not known.
	RootBy func() string
	Log    *slog.Logger // of c2c's own mistakes; nil discards
	// Stateless, if set, answers clients that have revision 2026-07-28 only, with the same tools.
	Stateless interface{ Attach(t *Tools) }
	// Silent is for a second c2c server of the same client: it has no tools, and takes no session.
	Silent bool
}

// Tools answers the tool calls.
type Tools struct {
	Cfg  Config
	Only *Peer // the client of a transport with one client; others name the client of each request, see WithPeer
}

func newTools(cfg Config) *Tools {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tools{Cfg: cfg}
	t.Only = &Peer{Cfg: &t.Cfg, Client: Client{Configured: cfg.Client, Process: cfg.PID, Getenv: cfg.Getenv, Open: cfg.Open}}
	return t
}

// peer is the client behind a request.
func (t *Tools) peer(ctx context.Context) *Peer {
	if p, ok := ctx.Value(peerKey{}).(*Peer); ok {
		return p
	}
	return t.Only
}
