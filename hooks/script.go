package hooks

import (
	_ "embed"
	"path/filepath"
	"strings"

	"c2c/inbox/mail"
)

// script is the hook script. It finds c2c through the PATH.
//
//go:embed c2c-inbox-check.sh
var script []byte

// ScriptFor returns the script with the path of c2c filled in.
func ScriptFor(binary string) []byte {
	quoted := "'" + strings.ReplaceAll(binary, "'", `'\''`) + "'"
	return []byte(strings.Replace(string(script), "\nc2c=c2c\n", "\nc2c="+quoted+"\n", 1))
}

// Pointers returns the directory in which `c2c hook` records where a session's mailbox is. Each session has a file named
// after the client's session id, with one line "<root>/<sid>". The script reads that file without starting a program. The
// argument state is broker.StateDir; if it is empty, so is the result.
func Pointers(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, "pointers")
}

// PointerPath returns the path of a session's file in Pointers, or "" if the client's id cannot be a file name.
func PointerPath(state, clientID string) string {
	if state == "" || !mail.ValidName(clientID) {
		return ""
	}
	return filepath.Join(Pointers(state), clientID)
}
