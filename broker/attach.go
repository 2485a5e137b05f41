package broker

import (
	"context"
	"errors"

	"c2c/broker/client"
	"c2c/inbox"
)

// Attach finds the caller's session, or makes one, and records the client's id and process with it. A
// session that was swept gets its mailbox, its alias if that is still free, and its dead letters back.
func (b *Broker) Attach(ctx context.Context, c Caller) (Session, error) {
	c = c.looked()
	if s, ok := b.attached(c); ok {
		return s, nil
	}
	return b.attach(ctx, c, "")
}

// attached gives the caller's session if nothing has to be recorded. That is so for nearly every hook and tool
// call, which then does not wait for the registry's lock.
func (b *Broker) attached(c Caller) (s Session, ok bool) {
	rows, err := b.readRegistry()
	if err != nil {
		return s, false // attach repairs a damaged registry
	}
	b = b.glance()
	sid, err := b.resolve(rows, c)
	i := findSID(rows, sid)
	if err != nil || i < 0 {
		return s, false
	}
	s = b.session(rows[i])
	same := (c.PID == 0 || s.Process == c.PID) && (c.Client == "" || s.Client == c.Client) &&
		(c.ClientID == "" || s.ClientID() == c.ClientID) && (c.Alias == "" || s.facts.Named) &&
		(c.Transport == "" || s.facts.Transport == c.Transport)
	return s, same && s.facts.stored && !s.HasMailToMove()
}

// Register is Attach, and gives the session the alias; "" keeps the alias that it has. If an absent session has
// the alias, its mail moves too. If that session is or may be alive, the error is an *AliasTakenError.
func (b *Broker) Register(ctx context.Context, c Caller, alias string) (Session, error) {
	if alias != "" {
		if err := CheckAlias(alias); err != nil {
			return Session{}, err
		}
	}
	return b.attach(ctx, c.looked(), alias)
}

// attachment is one Attach while it holds the registry's lock.
type attachment struct {
	caller   Caller
	alias    string
	named    bool    // somebody chose the alias; c2c did not make it up
	optional bool    // the alias comes from the configuration: if it is taken, the session gets or keeps another one
	client   string  // whose session it is
	id       string  // the client's own id, or empty
	process  process // zero when not known
	sid      string
	created  bool     // the session had no row
	new      bool     // nobody can have known its id before
	evicted  []string // sessions that lost the alias to this one
	since    float64  // when the first of these had chosen it
	moveFrom []string // see facts
}

func (b *Broker) attach(ctx context.Context, c Caller, alias string) (Session, error) {
	a := &attachment{caller: c, alias: alias, client: c.Client, id: c.ClientID}
	var own row
	err := b.change(ctx, func(rows []row) ([]row, error) {
		rows, err := b.bind(ctx, rows, a)
		if err == nil {
			own = rows[findSID(rows, a.sid)]
		}
		return rows, err
	})
	if err != nil {
		return Session{}, err
	}
	b.finishMoves(ctx, a.moveFrom, own)
	return b.session(own), nil
}

// bind finds or makes the row, and binds the client to it. It writes the facts and the index of client ids; the
// registry is written after them. After a crash in between, the client's id leads to a session without a row, and
// the next Attach makes that row.
func (b *Broker) bind(ctx context.Context, rows []row, a *attachment) ([]row, error) {
	var err error
	if a.sid, err = b.resolve(rows, a.caller); err != nil {
		return nil, err
	}
	if a.caller.PID > 0 {
		if a.process, err = b.proc.find(a.caller.PID); err != nil {
			// A sandbox may hide it. The session then has no known process.
			b.log.Warn("client process not found", "pid", a.caller.PID, "err", err)
		}
	}
	i := findSID(rows, a.sid)
	a.created = a.sid == "" || i < 0
	if a.caller.serves && !a.created && b.state(rows[i]) == Alive {
		a.process = process{} // a window that has opened the session keeps it: its person would not see there what the server does
	}
	if a.created && a.id == "" && a.caller.Explicit == "" {
		// A new session may believe the environment. If the session was named, the environment may be another's.
		if ids := a.caller.clientIDs(); len(ids) == 1 {
			a.client, a.id = ids[0].client, ids[0].id
		}
	}
	if isPersonID(a.sid) {
		a.client = ClientHuman
	}
	if a.caller.Start == "" && !a.created {
		if s := b.session(rows[i]); s.Client == ClientWire && s.State == Alive {
			a.client, a.process = ClientWire, process{}
		}
	}
	if a.sid == "" {
		if a.client == "" && a.caller.PID == 0 {
			return nil, ErrNoCaller
		}
		a.sid, a.new = inbox.NewID(b.now()), true
	}
	before, err := b.readFacts(a.sid)
	if damaged := new(damagedError); err != nil && !errors.As(err, &damaged) {
		return nil, err // bindFacts sets a damaged file aside
	}
	a.named = a.alias != "" || a.caller.Alias != ""
	if a.optional = a.alias == "" && !before.Named && CheckAlias(a.caller.Alias) == nil; a.optional {
		a.alias = a.caller.Alias
	}
	bound, err := b.bindRow(rows, a, before.Alias)
	if err != nil {
		return nil, err
	}
	if len(a.evicted) > 0 {
		a.since = b.factsOf(a.evicted[0]).AliasSince
	}
	a.moveFrom = addMissing(before.MoveFrom, a.evicted...)
	if (a.created && !a.new || a.alias != "") && b.mayHaveDead() {
		a.moveFrom = addMissing(a.moveFrom, a.sid)
	}
	return bound, b.bindFacts(ctx, a, bound[findSID(bound, a.sid)].alias())
}

// bindRow makes or edits the row; former is the alias the session had in an earlier life.
func (b *Broker) bindRow(rows []row, a *attachment, former string) ([]row, error) {
	rows, err := b.claimAlias(rows, a)
	if err != nil {
		return nil, err
	}
	if a.created {
		alias := a.alias
		if alias == "" && former != "" && len(holders(rows, former)) == 0 {
			alias = former
		}
		if alias == "" && isPersonID(a.sid) && a.caller.User != nil {
			alias = a.caller.User.firstAlias(rows)
		}
		if alias == "" {
			alias = newAlias(rows, a.client)
		}
		var r row
		r.setText("session_id", a.sid)
		r.setText("alias", alias)
		r.setTime("registered_at", inbox.Seconds(b.now()))
		if a.client != "" {
			r.setText("client_type", a.client)
		}
		rows = append(rows, r)
	}
	i := findSID(rows, a.sid)
	own := rows[i]
	if a.alias != "" && own.alias() != a.alias {
		own.setText("alias", a.alias)
		own.set("canonical_alias", nil) // the original makes it from the alias
	}
	if a.process.pid != 0 && !b.isBoundTo(own, a.process) {
		own.setInteger("pid", int64(a.process.pid))
		own.setInteger("pid_start_time", a.process.start)
	}
	rows[i] = own
	b.unbindOthers(rows, a)
	return rows, nil
}

// unbindOthers takes the process away from other sessions. A client that has one session at a time has left
// them, for example by /resume.
func (b *Broker) unbindOthers(rows []row, a *attachment) {
	if p, known := client.Find(a.client); a.process.pid == 0 || !known || p.SharedProcess || a.caller.serves {
		return
	}
	for i, r := range rows {
		if r.sid() != a.sid && b.isBoundTo(r, a.process) {
			rows[i].setInteger("pid_start_time", noStart)
		}
	}
}

// claimAlias removes absent sessions that have the wanted alias.
func (b *Broker) claimAlias(rows []row, a *attachment) ([]row, error) {
	if a.alias == "" {
		return rows, nil
	}
	kept := make([]row, 0, len(rows)+1)
	for _, r := range rows {
		switch {
		case fold(r.alias()) != fold(a.alias) || r.sid() == a.sid:
			kept = append(kept, r)
		case b.state(r) == Absent && !(a.optional && a.caller.Proposed):
			a.evicted = append(a.evicted, r.sid())
		case a.optional:
			a.alias, a.evicted = "", nil
			return rows, nil
		default:
			return nil, &AliasTakenError{Alias: r.alias(), Suggested: freeAlias(rows, a.alias)}
		}
	}
	return kept, nil
}

func (b *Broker) bindFacts(ctx context.Context, a *attachment, alias string) error {
	if a.id != "" {
		if err := b.bindID(a.client, a.id, a.sid); err != nil {
			return err
		}
	}
	return b.changeFacts(ctx, a.sid, func(f *facts) {
		known := f.Alias != "" || a.created // else an older version gave the alias, at a time that nobody knows
		switch renamed := fold(f.Alias) != fold(alias); {
		case len(a.evicted) > 0:
			f.AliasSince = a.since
		case renamed && known:
			f.AliasSince = inbox.Seconds(b.now())
		case renamed:
			f.AliasSince = 0
		}
		f.rename(alias, b.now())
		f.MoveFrom = addMissing(f.MoveFrom, a.moveFrom...)
		if a.client != "" {
			f.Client = a.client
		}
		f.Started = a.id == "" && (f.Started || a.caller.Start != "")
		if a.id != "" {
			f.ClientIDs = addID(f.ClientIDs, a.id)
		}
		if a.process.pid != 0 {
			f.PID, f.StartTime, f.Namespace = a.process.pid, a.process.start, b.proc.namespace()
		}
		if isPersonID(a.sid) && a.caller.User != nil && a.caller.User.looked().Terminal {
			f.Namespace = b.proc.namespace()
		}
		if t := a.caller.Transport; t != "" && t != f.Transport {
			f.Transport, f.TransportAt = t, b.now().UTC()
		}
		f.Named = f.Named || a.named
		if a.alias != "" {
			f.Proposed = a.optional && a.caller.Proposed
		}
	})
}
