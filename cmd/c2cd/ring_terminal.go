package main

import (
	"context"

	"c2c/broker"
	"c2c/inbox"
	"c2c/install"
	"c2c/wake"
	"c2c/wake/codex"
	"c2c/wake/pty"
)

// terminalReach is for a client that runs in a terminal of ours.
type terminalReach struct {
	a        *app
	terminal *pty.Terminal
}

// sessions are those whose client is in the terminal; a daemon's threads are not.
func (r terminalReach) sessions(ctx context.Context, b *broker.Broker) (sids []string, err error) {
	open := codex.OpenThreads(r.terminal.PID())
	return choose(ctx, b, func(s broker.Session) bool { return open[thread(s)] || b.Below(s, r.terminal.PID()) })
}

func (r terminalReach) methods(_ context.Context, s broker.Session, _ *inbox.Mailbox, _ string) ([]wake.Method, func() bool, error) {
	methods := []wake.Method{{Name: wake.ByTerminal, Doorbell: r.terminal}}
	if s.Client == install.Claude {
		return methods, r.a.claudeBusy(s.PID), nil
	}
	return methods, nil, nil
}
