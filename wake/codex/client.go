package codex

import (
	"context"

	"c2c/wake"
)

func init() {
	wake.Register(wake.Client{Name: "codex", NeedsNoServer: true, Ways: ways, Dir: dirOf, Begin: Begin})
}

// ways returns the ways to Codex: its app-server, or its queue if the app-server does not have the
// session's thread.
func ways(p wake.RingContext, s wake.Session) (wake.Ways, error) {
	server := &Server{Home: p.Config, Thread: s.ID, Unattended: s.Unattended}
	bell := &queue{Home: p.Config, Thread: s.ID, Unattended: s.Unattended, Getenv: p.Getenv}
	busy := func(ctx context.Context) bool {
		st, err := server.State(ctx)
		return err == nil && (st == Busy || st == Waiting)
	}
	follow := &Server{Home: p.Config, Thread: s.ID, Unattended: s.Unattended} // a second Server, because another goroutine uses the first
	return wake.Ways{Busy: busy, Follow: follow.Follow, By: wake.ByServer, Methods: []wake.Method{
		{Name: wake.ByServer, Carrier: server, Doorbell: server, Ready: server.Ready}, {Name: wake.ByQueue, Doorbell: bell}}}, nil
}
