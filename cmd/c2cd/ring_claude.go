package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"c2c/broker"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/wake"
	"c2c/wake/claude"
)

// claudeReach is for a server that Claude Code started: one client, one session at a time.
type claudeReach struct {
	a      *app
	client int // its process
}

// sessions is the one that lives in our client, if it is known already. /resume changes it.
func (r claudeReach) sessions(ctx context.Context, b *broker.Broker) ([]string, error) {
	s, err := b.Resolve(ctx, broker.Caller{Client: "claude", Getenv: r.a.getenv, PID: r.client})
	if errors.Is(err, broker.ErrNoSession) || errors.Is(err, broker.ErrAmbiguous) || err == nil && s.PID != r.client {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []string{s.ID}, nil
}

func (r claudeReach) methods(_ context.Context, s broker.Session, box *inbox.Mailbox, root string) ([]wake.Method, func() bool, error) {
	socket, err := claude.FromEnv(r.a.getenv, time.Now)
	if err != nil {
		return nil, nil, err
	}
	m := wake.Method{Name: wake.BySocket, Doorbell: socket}
	if r.hooked(s) {
		m.Courier = &claude.Courier{Socket: socket, Box: box, Root: root}
	}
	config := r.a.getenv("CLAUDE_CONFIG_DIR")
	if config == "" {
		config = filepath.Join(r.a.getenv("HOME"), ".claude")
	}
	busy := func() bool { return claude.StateOf(config, r.client) == claude.Busy }
	return []wake.Method{m}, busy, nil
}

// hooked says whether our hooks have run in this session: without them nothing
// would tell that a carried message has arrived.
func (r claudeReach) hooked(s broker.Session) bool {
	for _, id := range s.ClientIDs {
		if path := hooks.PointerPath(r.a.getenv, id); path != "" {
			if _, err := os.Stat(path); err == nil {
				return true
			}
		}
	}
	return false
}
