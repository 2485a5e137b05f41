// Package kimi tells whether a turn of Kimi Code 2.1.0 runs. The client has no socket and no queue for others, so it is
// woken through its terminal alone. Nothing is on disk but the client's own log.
package kimi

import (
	"context"

	"c2c/hooks"
	"c2c/wake"
)

// Client is how Kimi Code is woken.
func Client() wake.Client {
	return wake.Client{Name: "kimi", Ways: func(p wake.Place, s wake.Session) (w wake.Ways, err error) {
		if p.Inside {
			return w, wake.ErrUnreachable
		}
		// The session is known since its first prompt: before that no turn runs.
		w.Busy = func(context.Context) bool { return hooks.KimiRuns(p.Config, s.ID) }
		return w, nil
	}}
}
