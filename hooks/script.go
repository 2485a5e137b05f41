package hooks

import (
	_ "embed"
	"path/filepath"
	"strings"

	"c2c/inbox"
)

// Script is the hook script, which looks for c2c on the PATH.
//
//go:embed c2c-inbox-check.sh
var Script []byte

// ScriptFor is the script with the path of c2c written into it.
func ScriptFor(binary string) []byte {
	quoted := "'" + strings.ReplaceAll(binary, "'", `'\''`) + "'"
	return []byte(strings.Replace(string(Script), "\nc2c=c2c\n", "\nc2c="+quoted+"\n", 1))
}

// PointerPath is the file in which `c2c hook` leaves the place of a session's
// mailbox, "<root>/<sid>" on one line, for the script to find without starting
// anything. It is "" when the client's id cannot name a file.
func PointerPath(getenv func(string) string, clientID string) string {
	if !inbox.ValidName(clientID) {
		return ""
	}
	base := getenv("XDG_STATE_HOME")
	if base != "" {
		base = filepath.Join(base, "c2c")
	} else if home := getenv("HOME"); home != "" {
		base = filepath.Join(home, ".c2c")
	} else {
		return ""
	}
	return filepath.Join(base, "pointers", clientID)
}
