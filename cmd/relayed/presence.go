package relayed

import (
	"cmp"
	"context"
	"encoding/json"

	"c2c/inbox/mail"
	"c2c/relay/cache"
	"c2c/sessions"
)

// announce tells the other hosts which sessions a root has, if that has changed.
func (r *roots) announce(ctx context.Context, one *root) {
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
