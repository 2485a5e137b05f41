package broker

import (
	"context"
	"fmt"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// ExternalSession returns the session external-<name> of a sender outside, and makes it if it is
// missing. The argument client is sessions.ClientExternal, ClientSigned or ClientDenied.
func (b *Broker) ExternalSession(ctx context.Context, name, client string) (sessions.Session, error) {
	if err := mail.CheckSender(name); err != nil {
		return sessions.Session{}, err
	}
	sid := mail.ExternalPrefix + name
	rows, err := b.Rows(ctx)
	if err != nil {
		return sessions.Session{}, err
	}
	if i := sessions.FindSID(rows, sid); i >= 0 && rows[i].Text("client_type") == client {
		return b.Session(rows[i]), nil
	}
	var own sessions.Row
	err = b.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		i := sessions.FindSID(rows, sid)
		if i < 0 {
			i, rows = len(rows), append(rows, sessions.Row{})
			rows[i].SetText("session_id", sid)
			rows[i].SetText("alias", sessions.FreeAlias(rows[:i], sid))
			rows[i].SetTime("registered_at", mail.Seconds(b.Now()))
		}
		rows[i].SetText("client_type", client)
		own = rows[i]
		return rows, nil
	})
	if err != nil {
		return sessions.Session{}, fmt.Errorf("make the session of sender %q: %w", name, err)
	}
	return b.Session(own), nil
}

// SendExternal is Send for a message with an Origin, from or to a sender outside. The argument from
// is the session of the writer. The writer is the sender outside, or an agent that answers this
// sender.
func (b *Broker) SendExternal(ctx context.Context, from sessions.Session, m mail.Message, o mail.Origin) (Receipt, error) {
	if err := m.SetOrigin(o); err != nil {
		return Receipt{}, fmt.Errorf("send: %w", err)
	}
	return b.Send(ctx, from, m)
}

// HasRoomFrom reports whether the mailbox of an alias has room for another message of a sender:
// fewer than limit messages of that sender wait there. It reads the messages only if the whole
// mailbox has limit messages or more.
func (b *Broker) HasRoomFrom(ctx context.Context, from sessions.Session, alias string, limit int) (bool, error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return false, err
	}
	to := b.Receiver(rows, alias)
	if to == nil {
		return true, nil // Send will report the unknown alias
	}
	boxes, err := b.Backlogs()
	if err != nil {
		return false, err
	}
	defer boxes.Close()
	mail, err := boxes.Of(to.SID())
	if err != nil || mail.Count < limit { // Send repairs a damaged mailbox, and reports one that cannot be read
		return true, nil
	}
	box, err := b.Mailbox(to.SID())
	if err != nil {
		return false, err
	}
	all, err := box.PeekAll(ctx)
	n := 0
	for _, m := range all {
		if sessions.Fold(m.From) == sessions.Fold(from.Alias) {
			n++
		}
	}
	return n < limit, err
}
