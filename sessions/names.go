package sessions

import (
	"fmt"
	"strings"

	"c2c/inbox/mail"
)

// Fold lowers the case of an alias, so that spellings can be compared. Aliases are ASCII.
func Fold(s string) string { return strings.ToLower(s) }

// Holders returns the rows with an alias, ignoring case.
func Holders(rows []Row, alias string) []Row {
	var found []Row
	for _, r := range rows {
		if Fold(r.Alias()) == Fold(alias) {
			found = append(found, r)
		}
	}
	return found
}

// SystemAlias is the sender of c2c's own messages. No session can have this alias, and no answer
// can be sent to it.
const SystemAlias = mail.SystemAlias

// ClientHuman is the client_type of a person at a terminal.
const ClientHuman = "human"

const PersonPrefix = "person-"

// IsPersonID reports whether a session id is reserved for a person, in upper or lower case, because
// some file systems ignore case.
func IsPersonID(sid string) bool {
	uid, ok := strings.CutPrefix(Fold(sid), PersonPrefix)
	return ok && uid != "" && strings.Trim(uid, "0123456789") == ""
}

// Values of Session.Client for the session of a sender outside.
const (
	ClientExternal = "external"        // a program with a token, which can read its answers
	ClientSigned   = "external-signed" // a service that signs what it sends, and reads nothing
	ClientDenied   = "external-denied" // a sender whose key was taken away
)

// IsExternalID reports whether a session id or an alias is reserved for senders outside, in any
// case.
func IsExternalID(name string) bool { return strings.HasPrefix(Fold(name), mail.ExternalPrefix) }

// HostPrefix begins the id of an outbox, the mailbox with the mail for another machine. An outbox
// is in no registry.
const HostPrefix = "host-"

// IsHostID reports whether a session id is reserved for another machine.
func IsHostID(sid string) bool { return strings.HasPrefix(Fold(sid), HostPrefix) }

// RemoteRow makes a row for a session or a room on another machine from its address, such as
// birch@devbox or #review@devbox. It returns nil if address is no such address. The row is in no
// registry.
func RemoteRow(address string) Row {
	name := strings.TrimPrefix(address, "#")
	alias, host, ok := mail.SplitAddress(name)
	if !ok {
		return nil
	}
	var r Row
	r.SetText("session_id", HostPrefix+host)
	r.SetText("alias", address[:len(address)-len(name)]+alias+"@"+host)
	return r
}

// CheckExternal returns an error for the session of a sender outside, and for the mailbox of
// another machine. No local session may use these ids, because a message with such an id counts as
// written by that sender or machine.
func CheckExternal(sid string) error {
	if IsHostID(sid) {
		return fmt.Errorf("session %q is the mail for another machine; nobody here may use it", sid)
	}
	if IsExternalID(sid) {
		return fmt.Errorf("session %q belongs to a sender outside, which shows a token over HTTP; nobody here may use it", sid)
	}
	return nil
}
