package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"c2c/inbox/mail"
	"c2c/relay/cache"
	"c2c/sessions"
)

const (
	// After announceGap, announce lists the sessions again even if no file has changed: no file
	// changes when the process of a session ends.
	announceGap = 30 * time.Second
	// listGap is the shortest time between two lists of the sessions, because listing all sessions
	// is slow.
	listGap = time.Second
)

// announce sends the sessions of a root to the other hosts, if the sessions have changed. The
// result later is the time after which to call it again; 0: not before something changes.
func (r *roots) announce(ctx context.Context, one *root) (later time.Duration) {
	mark, now := markOf(one.path, sessions.RegistryFileName, "sessions"), r.h.Now()
	since := now.Sub(one.looked).Abs()
	switch {
	case mark == one.mark && since < announceGap:
		return 0
	case one.mark != "" && since < listGap:
		return listGap - since
	}
	one.mark, one.looked = mark, now
	ctx, end := context.WithTimeout(ctx, sessions.KeepWait)
	defer end()
	all, err := one.b.Sessions(ctx)
	if err != nil {
		r.h.Log.Warn("the sessions here were not sent to other hosts", "root", one.path, "err", err)
		return 0
	}
	shown := []cache.HeardSession{}
	for _, s := range all {
		if s.State == sessions.External || mail.CheckAlias(s.Alias) != nil {
			continue
		}
		shown = append(shown, cache.HeardSession{Alias: s.Alias, Client: s.Client, State: string(cmp.Or(s.Turn, s.State))})
	}
	said, err := json.Marshal(shown)
	if err == nil && string(said) != one.said {
		one.said = string(said)
		one.relay.Announce(shown)
	}
	return 0
}
