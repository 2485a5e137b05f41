package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/mcpserver"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/wake"
	"c2c/wake/claude"
)

// claudeReach is for a server that Claude Code started: one client, one session at a time.
type claudeReach struct {
	a      *app
	client int // its process

	channel pushing
}

// channelVariable turns channel notifications on: doorbell (or 1) pushes no bodies, content does.
const channelVariable = "C2C_MCP_CHANNEL_DELIVERY"

const (
	channelOff      = ""
	channelDoorbell = "doorbell"
	channelContent  = "content"
)

func channelMode(value string) (string, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return channelOff, nil
	case "1", "true", "yes", "on", channelDoorbell:
		return channelDoorbell, nil
	case channelContent:
		return channelContent, nil
	}
	return "", fmt.Errorf("%s is %q: want doorbell, content or 0", channelVariable, value)
}

// pushing is the server that can push, and how.
type pushing struct {
	mode string
	srv  *mcpserver.Server
}

// method is the channel's: the client may have been started without it.
func (p pushing) method(box *inbox.Mailbox, root string) wake.Method {
	c := &mcpserver.Channel{Server: p.srv, Box: box, Root: root}
	m := wake.Method{Name: wake.ByChannel, Doorbell: c, Unproven: true}
	if p.mode == channelContent {
		m.Courier = c
	}
	return m
}

// sessions is the one that lives in our client, if it is known already. /resume changes it.
func (r claudeReach) sessions(ctx context.Context, b *broker.Broker) ([]string, error) {
	if hooks.OneShot(r.client) {
		return nil, nil
	}
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
	var all []wake.Method
	if r.channel.mode != channelOff {
		all = append(all, r.channel.method(box, root))
	}
	socket, err := claude.FromEnv(r.a.getenv, time.Now)
	switch {
	case err != nil && len(all) == 0:
		return nil, nil, err
	case err == nil && r.hooked(s):
		all = append(all, wake.Method{Name: wake.BySocket, Doorbell: socket, Courier: &claude.Courier{Socket: socket, Box: box, Root: root}})
	case err == nil:
		all = append(all, wake.Method{Name: wake.BySocket, Doorbell: socket})
	}
	return all, r.a.claudeBusy(r.client), nil
}

// claudeBusy asks what a client says of itself.
func (a *app) claudeBusy(client int) func() bool {
	config := a.getenv("CLAUDE_CONFIG_DIR")
	if config == "" {
		config = filepath.Join(a.getenv("HOME"), ".claude")
	}
	return func() bool { return claude.StateOf(config, client) == claude.Busy }
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
