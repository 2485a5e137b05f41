// Package resume carries out a person's order to let two sessions go on that the loop guard has stopped. The order counts as work of both
// sessions, so the guard hands over what it holds.
package resume

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"c2c/broker/loops"
	"c2c/inbox"
	"c2c/inbox/archive"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/registry"
	"c2c/sessions/turns"
)

// Both lets two sessions go on. held is the number of messages that become ready here. If one of the two is on another machine, the relay
// tells that machine, which does the same (see FromHost).
func Both(ctx context.Context, reg *sessions.Registry, one, two string) (held int, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return 0, err
	}
	a, err := sideOf(reg, rows, one)
	if err != nil {
		return 0, err
	}
	b, err := sideOf(reg, rows, two)
	switch {
	case err != nil:
		return 0, err
	case a.sid == b.sid && !sessions.IsHostID(a.sid), sessions.Fold(one) == sessions.Fold(two):
		return 0, fmt.Errorf("%q and %q are one session", one, two)
	case sessions.IsHostID(a.sid) && sessions.IsHostID(b.sid):
		return 0, fmt.Errorf("%q and %q are both on other machines: run this on the machine of one of them", one, two)
	}
	pairs := [][2]side{{a, b}, {b, a}}
	if sessions.IsHostID(b.sid) { // the other machine first: its outbox may be full, and then nothing is done
		slices.Reverse(pairs)
	}
	for _, pair := range pairs {
		msgs, err := loops.HeldFrom(ctx, reg, pair[0].sid, pair[1].sid, pair[1].box)
		if err != nil {
			return 0, err
		}
		held += len(msgs)
	}
	for _, pair := range pairs {
		if err := pair[0].goOn(ctx, reg, pair[1]); err != nil {
			return 0, err
		}
	}
	// When this directory is gone, a running reader of an older version hands over held mail.
	if err := new(archive.Pruned).Remove(reg.Dir(), loops.OldDirectory, false); err != nil {
		reg.Log.Warn("a running c2c of an older version may keep messages held", "err", err)
	}
	reg.Events.Record(ctx, "resume", "session_id", a.sid, "with", b.sid)
	return held, errors.Join(a.box.NotifyWatchers(ctx), b.box.NotifyWatchers(ctx))
}

// side is one of the two sessions.
type side struct {
	alias string // with @host, if it is on another machine
	sid   string
	box   *inbox.Mailbox
}

func sideOf(reg *sessions.Registry, rows []registry.Row, alias string) (side, error) {
	r := reg.Receiver(rows, alias)
	if r == nil {
		r = remoteOf(reg, alias)
	}
	if r == nil {
		return side{}, &sessions.UnknownAliasError{Alias: alias, Closest: sessions.ClosestTo(rows, alias)}
	}
	box, err := reg.Mailbox(r.SID())
	return side{alias, r.SID(), box}, err
}

// goOn lets one side go on with the other. A side on another machine gets a message that says so.
func (s side) goOn(ctx context.Context, reg *sessions.Registry, other side) error {
	if !sessions.IsHostID(s.sid) {
		return turns.SawWork(reg, s.sid, false)
	}
	_, err := s.box.Deliver(ctx, mail.Message{From: sessions.SystemAlias, FromSession: other.sid, To: s.alias, ID: mail.NewID(reg.Now()), TS: mail.Seconds(reg.Now()),
		Kind: mail.KindSystem, FromPerson: true, Content: fmt.Sprintf("The person of %s lets the two of you go on.", other.alias)})
	return err
}

// remoteOf returns a row for a session on another machine to which mail went before, or nil.
func remoteOf(reg *sessions.Registry, address string) registry.Row {
	r := sessions.RemoteRow(address)
	if r == nil {
		return nil
	}
	if _, err := reg.Dir().Stat(r.SID() + ".inbox.lock"); err != nil {
		return nil
	}
	return r
}

// FromHost lets the session to go on, as a person has ordered on another machine: m is the message that says so. It ignores any other
// message.
func FromHost(reg *sessions.Registry, to string, m mail.Message) error {
	if m.Kind != mail.KindSystem || !m.FromPerson || !mail.ValidName(m.FromSession) {
		return nil
	}
	return errors.Join(turns.SawWork(reg, m.FromSession, false), turns.SawWork(reg, to, false))
}
