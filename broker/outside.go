package broker

import (
	"context"
	"fmt"
	"strings"

	"c2c/inbox"
)

// External is the state of a session that stands for a sender outside of this machine's sessions: a program or a person
// that writes over HTTP. Its mailbox holds the answers to it, and nobody here can act as it.
const External State = "external"

// The client of such a session.
const (
	ClientExternal = "external"        // a program with a token, which can read its answers
	ClientSigned   = "external-signed" // a service that signs what it sends, and reads nothing
	ClientDenied   = "external-denied" // one whose key was taken away
)

// isExternalID says whether a session id or an alias is reserved for senders outside, in any case.
func isExternalID(name string) bool { return strings.HasPrefix(fold(name), inbox.ExternalPrefix) }

type (
	// Outside is what a message from outside says of where it comes from, and what an answer to one says of what it is to
	// do there.
	Outside = inbox.Outside
	// File is a file of this machine that a message points at.
	File = inbox.File
)

// Outside gives the session external-<name> of a sender, and makes it when it is not there. Its client is ClientExternal,
// ClientSigned or ClientDenied.
func (b *Broker) Outside(ctx context.Context, name, client string) (Session, error) {
	if err := inbox.CheckSender(name); err != nil {
		return Session{}, err
	}
	sid := inbox.ExternalPrefix + name
	rows, err := b.rows(ctx)
	if err != nil {
		return Session{}, err
	}
	if i := findSID(rows, sid); i >= 0 && rows[i].text("client_type") == client {
		return b.session(rows[i]), nil
	}
	var own row
	err = b.change(ctx, func(rows []row) ([]row, error) {
		i := findSID(rows, sid)
		if i < 0 {
			i, rows = len(rows), append(rows, row{})
			rows[i].setText("session_id", sid)
			rows[i].setText("alias", freeAlias(rows[:i], sid))
			rows[i].setTime("registered_at", inbox.Seconds(b.now()))
		}
		rows[i].setText("client_type", client)
		own = rows[i]
		return rows, nil
	})
	if err != nil {
		return Session{}, fmt.Errorf("make the session of sender %q: %w", name, err)
	}
	return b.session(own), nil
}

// SendOutside is Send with what the message says about the outside. From is the session of a sender, or an agent that
// answers one.
func (b *Broker) SendOutside(ctx context.Context, from Session, m inbox.Message, o Outside) (Receipt, error) {
	if err := m.SetOutside(o); err != nil {
		return Receipt{}, fmt.Errorf("send: %w", err)
	}
	return b.Send(ctx, from, m)
}

// checkExternal refuses the session of a sender outside to everybody here: what it writes counts as written by others.
func checkExternal(sid string) error {
	if isExternalID(sid) {
		return fmt.Errorf("session %q belongs to a sender outside, who shows a token over HTTP; nobody here may use it", sid)
	}
	return nil
}

// HasRoomFrom says whether fewer than most messages of a sender wait in the mailbox of an alias. Only where as many wait at
// all they are looked at.
func (b *Broker) HasRoomFrom(ctx context.Context, from Session, alias string, most int) (bool, error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return false, err
	}
	to := b.receiver(rows, alias)
	if to == nil {
		return true, nil // the send says so
	}
	boxes, err := b.backlogs()
	if err != nil {
		return false, err
	}
	defer boxes.Close()
	mail, err := boxes.Of(to.sid())
	if err != nil || mail.Count < most {
		return err == nil, err
	}
	box, err := b.Mailbox(to.sid())
	if err != nil {
		return false, err
	}
	all, err := box.PeekAll(ctx)
	n := 0
	for _, m := range all {
		if fold(m.From) == fold(from.Alias) {
			n++
		}
	}
	return n < most, err
}
