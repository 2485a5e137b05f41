package ringer

import (
	"context"
	"fmt"
	"log/slog"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// maxNames bounds how many sessions are published to a client: each takes a file and a socket.
const maxNames = 64

// names publishes the sessions of c2c to a client whose own tool can write to other sessions. It
// stores the messages that the client sends to these sessions. For a client without such a tool it
// does nothing.
type names struct {
	b     *broker.Broker
	own   int // the client's process, whose own sessions are not published
	log   *slog.Logger
	peers wake.Peers
	off   func() bool // reports whether c2c was uninstalled from the client
}

func (r *Ringer) names(b *broker.Broker) *names {
	n := &names{b: b, own: r.Scope.process, log: r.Log}
	n.off = func() bool { return sessions.Uninstalled(r.Getenv, r.Scope.client.Name, n.own) }
	if r.Scope.client.Peers != nil {
		n.peers = r.Scope.client.Peers(r.Getenv, func(ctx context.Context, m wake.Sent) error {
			err := store(ctx, b, r.Scope.client.Name, m)
			if err != nil {
				r.Log.Warn("a message of the client's own tool is refused", "process", m.Process, "err", err)
			}
			return err
		})
	}
	return n
}

// show publishes the current sessions. If that fails, the caller tries again after a minute, or
// when the registry changes.
func (n *names) show(ctx context.Context) {
	if n.peers == nil {
		return
	}
	sessionList, err := n.b.Sessions(ctx)
	if err != nil {
		return // the ringer reports the error
	}
	var there []string
	if n.off() {
		sessionList = nil
	}
	for _, s := range sessionList {
		if s.State != sessions.Absent && s.Alias != "" && (s.Process == 0 || s.Process != n.own) {
			there = append(there, s.Alias)
		}
	}
	if err := n.peers.Show(n.b.Root(), there[max(0, len(there)-maxNames):]); err != nil {
		n.log.Debug("names are not shown to the client", "err", err)
	}
}

func (n *names) close() {
	if n.peers == nil {
		return
	}
	if err := n.peers.Close(); err != nil {
		n.log.Debug("names are still shown to the client", "err", err)
	}
}

// store delivers the message m to the session with the alias m.To. The sender is the session that
// the process m.Process has in this root.
func store(ctx context.Context, b *broker.Broker, client string, m wake.Sent) error {
	from, err := callers.Resolve(ctx, b.Registry, callers.Caller{Client: client, ClientID: m.Session, PID: m.Process})
	if err == nil && (from.Process != m.Process || from.Client != client) {
		err = fmt.Errorf("%q is not the session of process %d: %w", from.Alias, m.Process, sessions.ErrNoSession)
	}
	if err != nil {
		return err
	}
	_, err = b.Send(ctx, from, mail.Message{To: m.To, ID: m.ID, Content: m.Text})
	return err
}
