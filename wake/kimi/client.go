// Package kimi wakes sessions of Kimi Code (measured with 2.1.0). A terminal window of Kimi Code
// has no socket and no queue for other programs. So c2c types into its terminal, and reads from the
// client's own log whether a turn runs. To a session of `kimi web`, c2c sends a prompt over the
// REST interface of that server. The package writes nothing to disk.
package kimi

import (
	"context"

	"c2c/client"
	"c2c/wake"
)

const name = "kimi"

func init() { wake.Register(wake.Client{Name: name, Ways: ways}) }

func ways(p wake.RingContext, s wake.Session) (w wake.Ways, err error) {
	profile, _ := client.Find(name)
	// c2c learns of a session only at its first prompt. This is early enough, because no turn runs
	// before.
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
