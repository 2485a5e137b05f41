package relayed

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"c2c/inbox/mail"
	"c2c/relay/cache"
	"c2c/sessions"
)

// announceGap is how late other hosts may learn that a session has ended: no file changes when its process ends.
const announceGap = 30 * time.Second

// announce sends the sessions of a root to the other hosts, if they have changed. It does not list them at each message, because
// listing all sessions is slow.
func (r *roots) announce(ctx context.Context, one *root) {
	mark := markOf(one.path, "registry.json", "sessions")
	if now := r.h.Now(); mark != one.mark || now.Sub(one.looked).Abs() >= announceGap {
		one.mark, one.looked = mark, now
	} else {
		return
	}
	all, err := one.b.Sessions(ctx)
	if err != nil {
		r.h.Log.Warn("other hosts are not told of the sessions here", "root", one.path, "err", err)
		return
	}
	var shown []cache.Session
	for _, s := range all {
		if s.State == sessions.External || mail.CheckAlias(s.Alias) != nil {
			continue
		}
		shown = append(shown, cache.Session{Alias: s.Alias, Client: s.Client, State: string(cmp.Or(s.Turn, s.State))})
	}
	said, err := json.Marshal(shown)
	if err == nil && string(said) != one.said {
		one.said = string(said)
		one.relay.Announce(shown)
	}
}
