package main

import (
	"testing"

	"c2c/broker/owed"
	"c2c/client"
	"c2c/internal/daemon"
	"c2c/rooms"
)

// A part finds what clients store, and keeps the limits of the person; it gets nothing of a session
// that has started the daemon.
func TestTheDaemonGetsWhatItsPartsReadAndNoMore(t *testing.T) {
	names := []string{"HOME", "PATH", "SSH_AUTH_SOCK", owed.HopsVariable, rooms.WakesVariable}
	for _, p := range client.All() {
		for _, name := range []string{p.ConfigEnv, p.ConfigParentEnv} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if len(daemon.SafeEnv([]string{name + "=x"})) != 1 {
			t.Errorf("it does not get %s", name)
		}
	}
	for _, name := range []string{"SECRET_KEY", "C2C_MCP_BROKER_ROOT", "C2C_MCP_SESSION_ID", "CLAUDE_PROJECT_DIR", "TMUX"} {
		if len(daemon.SafeEnv([]string{name + "=x"})) != 0 {
			t.Errorf("it gets %s", name)
		}
	}
}
