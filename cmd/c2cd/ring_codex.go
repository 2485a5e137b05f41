package main

import (
	"context"
	"path/filepath"

	"c2c/broker"
	"c2c/inbox"
	"c2c/install"
	"c2c/wake"
	"c2c/wake/codex"
)

// codexReach is for a server that Codex started. Its daemon has one process for many threads, and
// starts a server for each.
type codexReach struct {
	a      *app
	client int // its process
}

func (r codexReach) home() string {
	if dir := r.a.getenv("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(r.a.getenv("HOME"), ".codex")
}

// sessions are the threads that our client has open: another one's would be out of reach.
func (r codexReach) sessions(ctx context.Context, b *broker.Broker) (sids []string, err error) {
	open := codex.OpenThreads(r.client)
	return choose(ctx, b, func(s broker.Session) bool { return open[thread(s)] })
}

// thread is the one that a Codex session is in now, "" for another client's session.
func thread(s broker.Session) string {
	if n := len(s.ClientIDs); s.Client == install.Codex && n > 0 {
		return s.ClientIDs[n-1]
	}
	return ""
}

// choose gives the ids of the sessions that are wanted.
func choose(ctx context.Context, b *broker.Broker, want func(broker.Session) bool) (sids []string, err error) {
	all, err := b.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if want(s) {
			sids = append(sids, s.ID)
		}
	}
	return sids, nil
}

func (r codexReach) methods(ctx context.Context, s broker.Session, _ *inbox.Mailbox, _ string) ([]wake.Method, func() bool, error) {
	server := &codex.Server{Home: r.home(), Thread: thread(s)}
	busy := func() bool {
		st, err := server.State(ctx)
		return err == nil && (st == codex.Busy || st == codex.Waiting)
	}
	queue := &codex.Queue{Home: r.home(), Thread: server.Thread, Client: r.client, Getenv: r.a.getenv}
	return []wake.Method{{Name: wake.ByServer, Courier: server, Doorbell: server}, {Name: wake.ByQueue, Doorbell: queue}}, busy, nil
}
