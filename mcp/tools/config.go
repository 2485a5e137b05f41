package tools

import (
	"context"
	"log/slog"
	"time"

	"c2c/broker"
	"c2c/inbox"
)

// Config holds the facts and functions that the tools need from their program.
type Config struct {
	// Open opens the broker. It is not called for a request initialize (except for RegisterEarly)
	// or tools/list: clients start throw-away copies of their servers, and such a copy must leave
	// no trace. Warnings that the broker logs go into the next answer.
	Open func(log inbox.Log) (*broker.Broker, error)
	// Client is the AI program that has started this server, according to c2c's own configuration.
	// The program also gives itself a name at initialize. If c2c knows that name, that name takes
	// precedence.
	Client string
	Getenv func(string) string
	PID    int // the client's process id
	// Initialized, if set, is called with c2c's name for the client. If c2c does not know the
	// client, it is called with the name that the client gives itself. The function must not block.
	Initialized func(client string)
	// LockWait is how long a call waits for a lock. Zero: 10 s, at initialize 2 s. Only tests set
	// it.
	LockWait time.Duration
	// Progress is the time between two progress notifications of a call. Only tests set it.
	Progress time.Duration
	// Channel makes the server declare that it sends channel notifications.
	Channel bool
	// Relay, if set, relays the permission dialogs of a client with a channel. The caller closes
	// it.
	Relay *Relay
	// Uninstalled, if set, reports whether c2c was uninstalled from the client while this process
	// of the client ran. If so, each call returns an error.
	Uninstalled func(client string, pid int) bool
	// RootBy returns what has chosen the root, such as a variable; nil: not known.
	RootBy func() string
	Log    *slog.Logger // for c2c's own faults; nil discards
	// Stateless, if set, answers clients that have only revision 2026-07-28, with the same tools.
	Stateless interface{ Attach(t *Tools) }
	// Silent is for a second c2c server of the same client. The second server offers no tools, and
	// has no session.
	Silent bool
}

// Tools implements the tool calls for all clients of a transport.
type Tools struct {
	Cfg  Config
	Only *Peer // never nil: the client of each request that names none, see WithPeer. Over HTTP it has no root, so it can only list
}

// NewTools returns the tools of a transport.
func NewTools(cfg Config) *Tools {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tools{Cfg: cfg}
	t.Only = &Peer{Cfg: &t.Cfg, Client: Client{Configured: cfg.Client, Process: cfg.PID, Getenv: cfg.Getenv, Open: cfg.Open}}
	return t
}

// peer returns the client that has sent a request.
func (t *Tools) peer(ctx context.Context) *Peer {
	if p, ok := ctx.Value(peerKey{}).(*Peer); ok {
		return p
	}
	return t.Only
}
