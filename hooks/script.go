package hooks

import (
	_ "embed"
	"strings"
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
