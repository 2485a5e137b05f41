package callers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Attached returns the caller's session. ok is false if there is no session, or if something about
// the session must be recorded first. Nearly every hook and tool call has nothing to record, and so
// need not wait for the registry's lock.
func Attached(reg *sessions.Registry, c Caller) (s sessions.Session, ok bool) {
	rows, err := reg.ReadRegistry()
	if err != nil {
		return s, false // Broker.Attach repairs a damaged registry
	}
	reg = reg.Glance()
	sid, err := resolve(reg, rows, c)
	i := sessions.FindSID(rows, sid)
	if err != nil || i < 0 {
		return s, false
	}
	s = reg.Session(rows[i])
	s.KnownBy = KnownBy(reg, rows, s, c)
	same := (c.PID == 0 || s.Process == c.PID) && (c.Client == "" || s.Client == c.Client) &&
		(c.ClientID == "" || s.ClientID() == c.ClientID || c.Follows && s.Facts.HasLeft(c.ClientID)) && (c.Alias == "" || s.Facts.Named) &&
		(c.Transport == "" || s.Facts.Transport == c.Transport) && (c.Lacks == "" || s.Facts.Lacks == c.Lacks)
	return s, same && s.Facts.OnDisk() && !s.HasMailToMove()
}

// Attachment is the state of one call of Arrive or BindRow. Both work under the registry's lock.
type Attachment struct {
	Caller   Caller
	Alias    string
	named    bool             // a user or model chose the alias; c2c did not make it up
	optional bool             // the alias comes from the configuration: if it is not free, the session gets or keeps another alias
	client   string           // the client of the session
	id       string           // the client's own id, or empty
	process  sessions.Process // the client's process; zero if not known
	sid      string
	created  bool     // the session had no row
	new      bool     // this call made the id of the session, so no dead letter can be for it
	evicted  []string // sessions that lost the alias to the caller's session
	since    float64  // the AliasSince of evicted[0]; the caller's session takes it over
	moveFrom []string // see sessions.Facts.MoveFrom

	startedBy string         // see sessions.Facts.StartedBy
	before    sessions.Facts // of the session
}

// Arrive finds or makes the session of the caller. own is the row of this session. due has the ids
// of the sessions whose mail must still be moved to it.
func Arrive(ctx context.Context, reg *sessions.Registry, c Caller, alias string) (own sessions.Row, due []string, err error) {
	c = c.withProcessAbove(reg)
	a := &Attachment{Caller: c, Alias: alias, client: c.Client, id: c.ClientID}
	err = reg.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		rows, err := BindRow(ctx, reg, rows, a)
		if err == nil {
			own = rows[sessions.FindSID(rows, a.sid)]
		}
		return rows, err
	})
	if err == nil {
		a.point(reg)
	}
	return own, a.moveFrom, err
}

// BindRow finds or makes the row of the caller's session, and binds the client to it. BindRow
// writes the facts and the index of client ids; its caller writes the registry afterwards. After a
// crash in between, the client's id leads to a session without a row, and the next call of
// Broker.Attach makes this row.
func BindRow(ctx context.Context, reg *sessions.Registry, rows []sessions.Row, a *Attachment) ([]sessions.Row, error) {
	var err error
	if a.sid, err = resolve(reg, rows, a.Caller); err != nil {
		return nil, err
	}
	if a.Caller.PID > 0 {
		if a.process, err = reg.Processes.Find(a.Caller.PID); err != nil {
			// A sandbox may hide the process. The session then has no known process.
			reg.Log.Warn("client process not found", "pid", a.Caller.PID, "err", err)
		}
	}
	i := sessions.FindSID(rows, a.sid)
	a.created = a.sid == "" || i < 0
	if a.Caller.serves && !a.created && reg.State(rows[i]) == sessions.Alive {
		a.process = sessions.Process{} // leave the session to its open window: the person there would not see what the server does
	}
	if a.created && a.id == "" && a.Caller.Explicit == "" {
		// Do this only for a new session that the caller has not named, because the environment may
		// come from another session.
		if ids := a.Caller.clientIDs(); len(ids) == 1 {
			a.client, a.id = ids[0].client, ids[0].id
		}
	}
	if sessions.IsPersonID(a.sid) {
		a.client = sessions.ClientHuman
	}
	if a.Caller.Start == "" && !a.created {
		if s := reg.Session(rows[i]); s.Client == ClientWire && s.State == sessions.Alive {
			a.client, a.process = ClientWire, sessions.Process{}
		}
	}
	if a.sid == "" {
		if a.client == "" && a.Caller.PID == 0 {
			return nil, sessions.ErrNoCaller
		}
		a.sid, a.new = mail.NewID(reg.Now()), true
	}
	before, err := reg.Facts.Read(a.sid)
	a.before = before
	if err != nil && !errors.Is(err, sessions.ErrDamaged) {
		return nil, err // a damaged file is no error here: bindFacts sets it aside
	}
	a.named = a.Alias != "" || a.Caller.Alias != ""
	if a.optional = a.Alias == "" && !before.Named && sessions.CheckAlias(a.Caller.Alias) == nil; a.optional {
		a.Alias = a.Caller.Alias
	}
	bound, err := bindRow(reg, rows, a, before)
	if err != nil {
		return nil, err
	}
	if len(a.evicted) > 0 {
		a.since = reg.Facts.Of(a.evicted[0]).AliasSince
	}
	if a.startedBy = before.StartedBy; a.process.PID != before.PID || a.process.Start != before.StartTime {
		a.startedBy = starter(reg, bound, a.process, a.client)
	}
	a.moveFrom = sessions.AddMissing(before.MoveFrom, a.evicted...)
	if (a.created && !a.new || a.Alias != "") && MayHaveDeadLetters(reg) {
		a.moveFrom = sessions.AddMissing(a.moveFrom, a.sid)
	}
	return bound, bindFacts(ctx, reg, a, bound[sessions.FindSID(bound, a.sid)].Alias())
}

// bindRow makes or edits the row of the caller's session. A new row gets the alias again that the
// session had before its row was removed, if this alias is free.
func bindRow(reg *sessions.Registry, rows []sessions.Row, a *Attachment, before sessions.Facts) ([]sessions.Row, error) {
	rows, err := claimAlias(reg, rows, a)
	if err != nil {
		return nil, err
	}
	if a.created {
		if other := likeSID(rows, a.sid); other != "" {
			return nil, fmt.Errorf("session id %q: another session has the id %q: take one that differs by more than the case", a.sid, other)
		}
		alias := a.Alias
		if alias == "" && before.Alias != "" && len(sessions.Holders(rows, before.Alias)) == 0 {
			alias = before.Alias
		}
		if alias == "" && sessions.IsPersonID(a.sid) && a.Caller.User != nil {
			alias = a.Caller.User.firstAlias(rows)
		}
		if alias == "" {
			alias = sessions.NewAlias(rows, a.client)
		}
		var r sessions.Row
		r.SetText("session_id", a.sid)
		r.SetText("alias", alias)
		r.SetTime("registered_at", mail.Seconds(reg.Now()))
		if a.client != "" {
			r.SetText("client_type", a.client)
		}
		rows = append(rows, r)
	}
	own := &rows[sessions.FindSID(rows, a.sid)]
	if a.Alias != "" && own.Alias() != a.Alias {
		own.SetText("alias", a.Alias)
		own.Set("canonical_alias", nil) // an older program made this field from the alias
	}
	if a.process.PID != 0 && !reg.IsBoundTo(*own, a.process) {
		own.SetInteger("pid", int64(a.process.PID))
		own.SetInteger("pid_start_time", a.process.Start)
	}
	unbindOthers(reg, rows, a)
	return rows, nil
}

// unbindOthers takes the caller's process away from other sessions, if the client has only one
// session at a time. Such a client has left those sessions, for example by /resume.
func unbindOthers(reg *sessions.Registry, rows []sessions.Row, a *Attachment) {
	if p, known := client.Find(a.client); a.process.PID == 0 || !known || p.SharedProcess || a.Caller.serves {
		return
	}
	for i, r := range rows {
		if r.SID() != a.sid && reg.IsBoundTo(r, a.process) {
			rows[i].SetInteger("pid_start_time", sessions.NoStart)
		}
	}
}

// claimAlias removes the rows of absent sessions that have the requested alias. A session that may
// live keeps the alias; an absent session keeps it if the alias is only proposed. If a session
// keeps the alias, claimAlias gives up an optional alias; for any other, it returns an
// *AliasTakenError.
func claimAlias(reg *sessions.Registry, rows []sessions.Row, a *Attachment) ([]sessions.Row, error) {
	if a.Alias == "" {
		return rows, nil
	}
	kept := make([]sessions.Row, 0, len(rows)+1)
	for _, r := range rows {
		switch {
		case sessions.Fold(r.Alias()) != sessions.Fold(a.Alias) || r.SID() == a.sid:
			kept = append(kept, r)
		case reg.State(r) == sessions.Absent && !(a.optional && a.Caller.Proposed):
			a.evicted = append(a.evicted, r.SID())
		case a.optional:
			a.Alias, a.evicted = "", nil
			return rows, nil
		default:
			return nil, &sessions.AliasTakenError{Alias: r.Alias(), Suggested: sessions.FreeAlias(rows, a.Alias), Person: reg.State(r) == sessions.Person}
		}
	}
	return kept, nil
}

func bindFacts(ctx context.Context, reg *sessions.Registry, a *Attachment, alias string) error {
	if a.id != "" {
		if err := reg.Facts.BindID(a.client, a.id, a.sid); err != nil {
			return err
		}
	}
	return reg.Facts.Change(ctx, a.sid, func(f *sessions.Facts) {
		known := f.Alias != "" || a.created // otherwise an older version of c2c gave the alias, at an unknown time
		switch renamed := sessions.Fold(f.Alias) != sessions.Fold(alias); {
		case len(a.evicted) > 0:
			f.AliasSince = a.since
		case renamed && known:
			f.AliasSince = mail.Seconds(reg.Now())
		case renamed:
			f.AliasSince = 0
		}
		f.Rename(alias, reg.Now())
		f.MoveFrom = sessions.AddMissing(f.MoveFrom, a.moveFrom...)
		f.Client = cmp.Or(a.client, f.Client)
		f.Started = a.id == "" && (f.Started || a.Caller.Start != "")
		if a.id != "" && !(a.Caller.Follows && f.HasLeft(a.id)) {
			if n := len(f.ClientIDs); n > 0 && f.ClientIDs[n-1] != a.id {
				f.Left = f.ClientIDs[n-1]
			}
			f.AddClientID(a.id)
		}
		if a.process.PID != 0 {
			if f.PID != a.process.PID || f.StartTime != a.process.Start {
				f.RingerPID, f.RingerStart, f.Lacks = 0, 0, ""
				if f.Turn != "" { // the new process is in no turn, and is not idle, longer than it runs
					f.TurnAt = reg.Now().UTC()
				}
			}
			f.PID, f.StartTime, f.Namespace, f.StartedBy = a.process.PID, a.process.Start, reg.Processes.Namespace(), a.startedBy
		}
		f.Lacks = cmp.Or(a.Caller.Lacks, f.Lacks)
		if sessions.IsPersonID(a.sid) && a.Caller.User != nil && a.Caller.User.looked().Terminal {
			f.Namespace = reg.Processes.Namespace()
		}
		if t := a.Caller.Transport; t != "" && t != f.Transport {
			f.Transport, f.TransportAt = t, reg.Now().UTC()
		}
		f.Named = f.Named || a.named
		if a.Alias != "" {
			f.Proposed = a.optional && a.Caller.Proposed
		}
	})
}

// DeadLetterFile has the dead letters, one per line: messages that were not read in time, or whose
// session is gone.
const DeadLetterFile = "dead-letter.jsonl"

// MayHaveDeadLetters reports whether there may be dead letters. If the file cannot be checked it
// returns true, so that the caller reads the file and gets the error.
func MayHaveDeadLetters(reg *sessions.Registry) bool {
	info, err := reg.Dir().Stat(DeadLetterFile)
	return err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) || err != nil && !errors.Is(err, fs.ErrNotExist)
}
