// This part lets two sessions write to each other again after the loop guard has stopped them. A
// person gives this order. It is recorded as work of both sessions. The guard holds a message only
// while neither its sender nor its receiver has worked, so after this record it releases all
// messages between the two.

package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
)

// Resume lets two sessions go on; one and two are their aliases. The result held is how many
// messages of this root are released. If one session is on another machine, Resume sends an order
// there, and FromHost does the same on that machine.
func Resume(ctx context.Context, reg *sessions.Registry, one, two string) (held int, err error) {
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
	if sessions.IsHostID(b.sid) { // begin with the other machine: if our outbox for it is full, we fail before anything has changed
		slices.Reverse(pairs)
	}
	for _, pair := range pairs {
		msgs, err := owed.HeldFrom(ctx, reg, pair[0].sid, pair[1].sid, pair[1].box)
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
	reg.Events.Record(ctx, "resume", "session_id", a.sid, "with", b.sid)
	return held, errors.Join(a.box.NotifyWatchers(ctx), b.box.NotifyWatchers(ctx))
}

// side is one of the two sessions.
type side struct {
	alias string // with @host, if it is on another machine
	sid   string
	box   *inbox.Mailbox
}

func sideOf(reg *sessions.Registry, rows []sessions.Row, alias string) (side, error) {
	r := reg.Receiver(rows, alias)
	if r == nil {
		r = remoteOf(reg, alias)
	}
	if r == nil {
		return side{}, sessions.UnknownAlias(reg, rows, alias)
	}
	box, err := reg.Mailbox(r.SID())
	return side{alias, r.SID(), box}, err
}

// goOn records the order as work of this side. If the side is on another machine, goOn sends the
// order there as a message.
func (s side) goOn(ctx context.Context, reg *sessions.Registry, other side) error {
	if !sessions.IsHostID(s.sid) {
		return sessions.SawWork(reg, s.sid, false)
	}
	_, err := owed.Deliver(ctx, reg, s.sid, s.box.Deliver, mail.Message{From: sessions.SystemAlias, FromSession: other.sid, To: s.alias, ID: mail.NewID(reg.Now()), TS: mail.Seconds(reg.Now()),
		Kind: mail.KindSystem, FromPerson: true, Content: fmt.Sprintf("The person of %s lets the two of you go on.", other.alias)})
	return err
}

// remoteOf returns a row for a session on another machine, or nil if address is not on another
// machine, or if no mail was ever sent there.
func remoteOf(reg *sessions.Registry, address string) sessions.Row {
	r := sessions.RemoteRow(address)
	if r == nil {
		return nil
	}
	rows := []sessions.Row{r}
	_, name, _ := strings.Cut(r.Alias(), "@")
	for _, p := range projectsCalled(reg.Root(), name) {
		rows = append(rows, sessions.ProjectRow(project.ID(p.Root), r.Alias()))
	}
	for _, r := range rows {
		if _, err := reg.Dir().Stat(r.SID() + ".inbox.lock"); err == nil {
			return r
		}
	}
	return nil
}

// ResumeFromHost carries out a person's order from another machine: the session sid of this root
// and the session m.FromSession of that machine go on. The order is the message m; ResumeFromHost
// ignores any other message.
func ResumeFromHost(reg *sessions.Registry, sid string, m mail.Message) error {
	if m.Kind != mail.KindSystem || !m.FromPerson || !mail.ValidName(m.FromSession) {
		return nil
	}
	return errors.Join(sessions.SawWork(reg, m.FromSession, false), sessions.SawWork(reg, sid, false))
}
