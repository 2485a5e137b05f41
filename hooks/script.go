package hooks

import (
	_ "embed"
	"path/filepath"
	"strings"

	"c2c/inbox/mail"
)

// script is the hook script, which looks for c2c on the PATH.
//
//go:embed c2c-inbox-check.sh
var script []byte

// ScriptFor is the script with the path of c2c written into it.
func ScriptFor(binary string) []byte {
	quoted := "'" + strings.ReplaceAll(binary, "'", `'\''`) + "'"
	return []byte(strings.Replace(string(script), "\nc2c=c2c\n", "\nc2c="+quoted+"\n", 1))
}

// Pointers is the directory in which `c2c hook` leaves the place of a session's
// mailbox, "<root>/<sid>" on one line, in a file called by the client's session id.
// The script finds it there without starting anything. state is broker.StateDir;
// without one there is none.
func Pointers(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, "pointers")
}

// PointerPath is that file, "" when the client's id cannot name one.
func PointerPath(state, clientID string) string {
	if state == "" || !mail.ValidName(clientID) {
		return ""
	}
	return filepath.Join(Pointers(state), clientID)
}
