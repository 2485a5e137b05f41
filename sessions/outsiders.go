package sessions

import (
	"fmt"
	"strings"

	"c2c/inbox/mail"
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

// IsExternalID says whether a session id or an alias is reserved for senders outside, in any case.
func IsExternalID(name string) bool { return strings.HasPrefix(Fold(name), mail.ExternalPrefix) }

// CheckExternal refuses the session of a sender outside to everybody here: what it writes counts as written by others.
func CheckExternal(sid string) error {
	if IsExternalID(sid) {
		return fmt.Errorf("session %q belongs to a sender outside, who shows a token over HTTP; nobody here may use it", sid)
	}
	return nil
}
