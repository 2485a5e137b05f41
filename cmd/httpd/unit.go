package httpd

import (
	"io"

	"c2c/broker/loops"
	"c2c/rooms/talk"
	"c2c/wake/daemon"
)

// PortVariable is the variable that sets the daemon's port.
const PortVariable = "C2C_HTTP_PORT"

// Settings are the variables that the daemon obeys.
func Settings() []string {
	return []string{"C2C_MCP_BROKER_ROOT", loops.HopsVariable, talk.WakesVariable}
}

// PrintUnit prints a systemd unit that runs a program in a directory.
func PrintUnit(out io.Writer, program, dir string, getenv func(string) string) error {
	u := daemon.Unit{Name: "c2c-serve", Description: "c2c over HTTP, on this machine alone", Program: program, Verb: "serve run", Dir: dir,
		Variables: append([]string{"XDG_STATE_HOME", PortVariable}, Settings()...)}
	return u.Print(out, getenv)
}
