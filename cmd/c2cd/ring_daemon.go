package main

import (
	"context"
	"strings"

	"c2c/broker"
	"c2c/inbox"
	"c2c/install"
	"c2c/wake"
	"c2c/wake/mux"
	"c2c/wake/screen"
)

// daemonReach is for the wake daemon: whoever can be reached from outside.
type daemonReach struct{ a *app }

func (daemonReach) sessions(ctx context.Context, b *broker.Broker) ([]string, error) {
	return choose(ctx, b, func(s broker.Session) bool { return s.Pane != "" || thread(s) != "" })
}

func (r daemonReach) methods(ctx context.Context, s broker.Session, box *inbox.Mailbox, root string) (methods []wake.Method, busy func() bool, err error) {
	if thread(s) != "" {
		if methods, busy, err = (codexReach{r.a, s.PID}).methods(ctx, s, box, root); err != nil {
			return nil, nil, err
		}
	}
	if s.Client == install.Claude {
		busy = r.a.claudeBusy(s.PID)
	}
	if s.Pane == "" {
		return methods, busy, nil
	}
	pane, err := mux.Parse(s.Pane)
	if err != nil {
		return nil, nil, err
	}
	bell := &mux.Bell{Pane: pane, Client: s.PID, Idle: idle(s.Client, pane.Kind), Getenv: r.a.getenv}
	return append(methods, wake.Method{Name: wake.ByTerminal, Doorbell: bell}), busy, nil
}

// idle recognises a client's empty prompt on a captured screen.
func idle(client, kind string) func(lines []string, row, col int) error {
	return func(lines []string, row, col int) error {
		if kind == mux.Screen {
			lines = unclipped(lines)
		}
		return screen.Idle(client, screen.Captured(lines, row, col))
	}
}

// unclipped puts Claude Code's prompt sign back: screen's hardcopy has the low byte of each character alone.
// It has no colours either, so what Codex suggests in its prompt looks like a draft, and nothing is typed.
func unclipped(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "o\u00a0"); ok {
			line = "❯\u00a0" + rest
		}
		out[i] = line
	}
	return out
}
