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

// ScriptFor returns the script with the path of c2c written into it.
func ScriptFor(binary string) []byte {
	quoted := "'" + strings.ReplaceAll(binary, "'", `'\''`) + "'"
	return []byte(strings.Replace(string(script), "\nc2c=c2c\n", "\nc2c="+quoted+"\n", 1))
}

// Pointers is the directory in which `c2c hook` records where a session's mailbox
// is: "<root>/<sid>" on one line, in a file named by the client's session id. The
// script reads it without starting a program. state is broker.StateDir; if it is
// empty there is no such directory.
func Pointers(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, "pointers")
}

// PointerPath returns the path of that file, or "" if the client's id cannot be a file name.
func PointerPath(state, clientID string) string {
	if state == "" || !mail.ValidName(clientID) {
		return ""
	}
	return filepath.Join(Pointers(state), clientID)
}
