package sessions

import (
	"fmt"
	"strings"

	"c2c/inbox/mail"
	"c2c/sessions/registry"
)

// Fold makes aliases comparable; only ASCII is allowed in them.
func Fold(s string) string { return strings.ToLower(s) }

// Holders gives the rows with an alias, whatever its case.
func Holders(rows []registry.Row, alias string) []registry.Row {
	var found []registry.Row
	for _, r := range rows {
		if Fold(r.Alias()) == Fold(alias) {
			found = append(found, r)
		}
	}
	return found
}

// SystemAlias is the sender of c2c's own messages. Nobody can have this alias, and nobody is answered there.
const SystemAlias = mail.SystemAlias

// ClientHuman is the original's client_type of somebody at a terminal.
const ClientHuman = "human"

const PersonPrefix = "person-"

// IsPersonID says whether a session id is reserved for a person, in any case: some file systems know none.
func IsPersonID(sid string) bool {
	uid, ok := strings.CutPrefix(Fold(sid), PersonPrefix)
	return ok && uid != "" && strings.Trim(uid, "0123456789") == ""
}

// The client of a session that stands for an external sender.
const (
	ClientExternal = "external"        // a program with a token, which can read its answers
	ClientSigned   = "external-signed" // a service that signs what it sends, and reads nothing
	ClientDenied   = "external-denied" // one whose key was taken away
)

// IsExternalID says whether a session id or an alias is reserved for senders outside, in any case.
func IsExternalID(name string) bool { return strings.HasPrefix(Fold(name), mail.ExternalPrefix) }

// HostPrefix stands before the name of another machine. So the mailbox is called that has the mail for it: its outbox. It is in no
// registry.
const HostPrefix = "host-"

// IsHostID says whether a session id is reserved for another machine.
func IsHostID(sid string) bool { return strings.HasPrefix(Fold(sid), HostPrefix) }

// RemoteRow is the row of a session on another machine, as far as its address tells; nil: it is no such address. No registry has
// this row.
func RemoteRow(address string) registry.Row {
	alias, host, ok := mail.SplitAddress(address)
	if !ok {
		return nil
	}
	var r registry.Row
	r.SetText("session_id", HostPrefix+host)
	r.SetText("alias", alias+"@"+host)
	return r
}

// CheckExternal refuses the session of a sender outside, and the mailbox of another machine, to everybody here: what they write
// counts as written by others.
func CheckExternal(sid string) error {
	if IsHostID(sid) {
		return fmt.Errorf("session %q is the mail for another machine; nobody here may use it", sid)
	}
	if IsExternalID(sid) {
		return fmt.Errorf("session %q belongs to a sender outside, who shows a token over HTTP; nobody here may use it", sid)
	}
	return nil
}
