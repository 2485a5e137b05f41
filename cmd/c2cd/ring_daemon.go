package main

import (
	"context"

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
	bell := &mux.Bell{Pane: pane, Client: s.PID, Idle: idle(s.Client), Getenv: r.a.getenv}
	return append(methods, wake.Method{Name: wake.ByTerminal, Doorbell: bell}), busy, nil
}

// idle recognises a client's empty prompt on a captured screen.
func idle(client string) func(lines []string, row, col int) error {
	return func(lines []string, row, col int) error {
		return screen.Idle(client, screen.Captured(lines, row, col))
	}
}
