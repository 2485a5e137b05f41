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
	// Open opens the broker. It is called at the first tool call and not before:
	// clients start throw-away copies of their servers, which must leave no trace.
	// Its warnings are told with the next answer.
	Open func(log inbox.Log) (*broker.Broker, error)
	// Client is the AI program that our configuration says has started us. What it calls itself at initialize comes first, if
	// c2c knows that name.
	Client string
	Getenv func(string) string
	PID    int // the client's process
	// Initialized, if set, is called with the client's name, or with what it calls itself. It must not block.
	Initialized func(client string)
	// LockWait is how long a call waits for a lock. Zero: 10 s, at initialize 2 s. Only tests set it.
	LockWait time.Duration
	// Progress is the time between two notifications that a call goes on. Only tests set it.
	Progress time.Duration
	// Channel declares that this server pushes channel notifications.
	Channel bool
	// Relay, if set, relays the permission dialogs of a client with a channel. The caller closes it.
	Relay *Relay
	// Uninstalled, if set, reports whether c2c was taken out of the client since this process of it has started: then each call is
	// refused.
	Uninstalled func(client string, pid int) bool
	// RootBy says how the root was chosen; nil: it is not known.
	RootBy func() string
	Log    *slog.Logger // of mistakes of ours; nil discards
	// Stateless, if set, answers clients of 2026-07-28 alone, with the same tools.
	Stateless interface{ Attach(t *Tools) }
	// Silent is for a server beside another one of c2c: it has no tools, and takes no session.
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
