// Package kimi wakes Kimi Code 2.1.0. A window of it has no socket and no queue for others: it is woken through its
// terminal, and the client's own log says whether a turn runs. A session of `kimi web` is given a prompt over that
// server's REST interface. Nothing of ours is on disk.
package kimi

import (
	"context"

	"c2c/client"
	"c2c/wake"
)

const name = "kimi"

// Client is how Kimi Code is woken.
func Client() wake.Client { return wake.Client{Name: name, Ways: ways} }

func ways(p wake.RingContext, s wake.Session) (w wake.Ways, err error) {
	profile, _ := client.Find(name)
	// The session is known since its first prompt: before that no turn runs.
	w.Busy = func(context.Context) bool {
		return profile.Doing(p.Config, s.Process, s.ID).InTurn()
	}
	if !p.Inside {
		return w, nil
	}
	port, ok := profile.Server(s.Process, p.Getenv)
	if !ok {
		return w, wake.ErrUnreachable
	}
	w.Methods = []wake.Method{{Name: wake.ByServer, Doorbell: &web{config: p.Config, session: s.ID, port: port}}}
	return w, nil
}
