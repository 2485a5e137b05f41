package sessions

import (
	"cmp"
	"context"

	"c2c/client"
	"c2c/inbox/mail"
)

// Sessions lists every registered session, in the registry's order.
func (reg *Registry) Sessions(ctx context.Context) ([]Session, error) {
	there, err := reg.root.NameSet()
	if err != nil {
		return nil, err
	}
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	look, held := reg.listProber(there), reg.Facts.Hold()
	defer held.Release()
	list := make([]Session, 0, len(rows))
	for _, r := range rows {
		list = append(list, look.sessionWith(r, held.Of(r.SID())))
	}
	return list, nil
}

// Session makes the session of a row.
func (reg *Registry) Session(r Row) Session {
	return reg.Prober().sessionWith(r, reg.Facts.Of(r.SID()))
}

// Session makes the session of a row.
func (look Prober) Session(r Row) Session {
	return look.sessionWith(r, look.reg.Facts.Of(r.SID()))
}

func (look Prober) sessionWith(r Row, f Facts) Session {
	s := Session{
		ID:         r.SID(),
		Alias:      r.Alias(),
		Client:     client.Name(cmp.Or(f.Client, r.Text("client_type"))),
		PID:        int(r.Integer("pid")),
		Registered: mail.FromSeconds(r.Number("registered_at")),
		Facts:      f,
	}
	look.setState(&s, r)
	return s
}

// AliasOf returns the alias of a session; "" if there is no such session.
func (reg *Registry) AliasOf(ctx context.Context, sid string) string {
	if sid == "" {
		return ""
	}
	rows, err := reg.Rows(ctx)
	if i := FindSID(rows, sid); err == nil && i >= 0 {
		return rows[i].Alias()
	}
	return ""
}

// IsBoundTo reports whether a row is bound to exactly this process.
func (reg *Registry) IsBoundTo(r Row, p Process) bool {
	return r.HasProcess(p.PID, p.Start) && !isElsewhere(r, reg.Facts.Of(r.SID()), reg.Processes)
}

// State returns whether a session's client lives, as far as we can see.
func (reg *Registry) State(r Row) State { return reg.Session(r).State }

// Receiver returns the row with an alias, or nil. If another program has left several such rows,
// Receiver prefers the row of a live session.
func (reg *Registry) Receiver(rows []Row, alias string) Row {
	all := Holders(rows, alias)
	for _, r := range all {
		if len(all) == 1 || reg.State(r) == Alive { // a single row is not tested, because a send must be fast
			return r
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}
