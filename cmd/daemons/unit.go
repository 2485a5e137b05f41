package daemons

import (
	"io"

	"c2c/broker/owed"
	"c2c/internal/daemon"
	"c2c/rooms"
)

// PortVariable is the variable that sets the daemon's port.
const PortVariable = "C2C_HTTP_PORT"

// Settings are the variables that the daemon obeys.
func HTTPSettings() []string {
	return []string{"C2C_MCP_BROKER_ROOT", owed.HopsVariable, rooms.WakesVariable}
}

// PrintUnit prints a systemd unit that runs a program in a directory.
func PrintUnit(out io.Writer, program, dir string, getenv func(string) string) error {
	u := daemon.Unit{Name: "c2c-serve", Description: "c2c over HTTP, on this machine alone", Program: program, Verb: "serve run", Dir: dir,
		Variables: append([]string{"XDG_STATE_HOME", PortVariable}, HTTPSettings()...)}
	return u.Print(out, getenv)
}
