package ringer

import (
	"context"
	"os"
	"slices"

	"c2c/broker"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// registerOpenSessions makes mailboxes for new sessions that the client's process has open: they
// have had no prompt yet, and so could not call c2c. If c2c knows an open session from another
// process, the session is bound to the client's process now. This process may also have sessions of
// other projects open, each with its own MCP server. Therefore a new session gets a mailbox only if
// its directory is that of our server, or if its directory is unknown and no other session is open.
// The map met has the sessions that were checked before. Each is checked only once, because a write
// to the registry causes another call.
func (r *Ringer) registerOpenSessions(ctx context.Context, b *broker.Broker, c wake.Client, pid int, open, met map[string]bool) {
	here, err := os.Stat(".")
	sessionList, serr := b.Sessions(ctx)
	if c.Dir == nil || err != nil || serr != nil {
		return
	}
	for id := range open {
		i := slices.IndexFunc(sessionList, func(s sessions.Session) bool { return s.Client == c.Name && slices.Contains(s.ClientIDs, id) })
		if met[id] || i >= 0 && sessionList[i].PID == pid {
			continue
		}
		met[id] = true
		if i < 0 {
			dir, ok, err := c.Dir(ctx, r.config(c.Name), id)
			there, serr := os.Stat(dir)
			if err == nil && (!ok || serr != nil || !os.SameFile(there, here)) || err != nil && len(open) > 1 {
				continue
			}
		}
		if _, err := b.Attach(ctx, callers.Caller{Client: c.Name, ClientID: id, PID: pid}); err != nil {
			r.Log.Debug("a session is not listed before its first prompt", "client", c.Name, "id", id, "err", err)
		}
	}
}
