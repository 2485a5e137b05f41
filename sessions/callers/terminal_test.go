package callers

import (
	"testing"

	"c2c/sessions/processes"
)

// An agent's client was started at 50.
func TestATerminalIsAPersonsIfItIsOlderThanTheClient(t *testing.T) {
	p := func(pid, parent int, start int64) processes.Process {
		return processes.Process{PID: pid, Parent: parent, Start: start}
	}
	emulator := opener{Process: p(2, 9, 10), name: "gnome-terminal-", master: true}
	for name, tc := range map[string]struct {
		terminal
		want bool
	}{
		"none, or it has left its leader":     {nil, false},
		"it was there before":                 {terminal{{Process: p(3, 1, 10), name: "bash"}}, true},
		"a new window of an old emulator":     {terminal{{Process: p(3, 2, 60), name: "bash"}, emulator}, true},
		"a new pane of an old tmux":           {terminal{{Process: p(3, 2, 60), name: "bash"}, {Process: p(2, 1, 10), name: "tmux: server", master: true}}, true},
		"a new emulator of an old desktop":    {terminal{{Process: p(3, 2, 60)}, {Process: p(2, 9, 55), name: "kitty", master: true}, {Process: p(9, 1, 5), name: "sway"}}, true},
		"a new emulator of nobody":            {terminal{{Process: p(3, 2, 60)}, {Process: p(2, 1, 55), name: "kitty", master: true}}, false},
		"script that was left behind":         {terminal{{Process: p(3, 2, 60)}, {Process: p(2, 1, 60), name: "script", master: true}}, false},
		"script, below the user's systemd":    {terminal{{Process: p(3, 2, 60)}, {Process: p(2, 9, 60), name: "script", master: true}, {Process: p(9, 1, 5), name: "systemd"}}, false},
		"a leader that its emulator has left": {terminal{{Process: p(3, 9, 60)}, {Process: p(9, 1, 5), name: "systemd"}}, false},
		"an old process that is no emulator":  {terminal{{Process: p(3, 9, 60)}, {Process: p(9, 1, 5), name: "bash"}}, false},
		"ssh":                                 {terminal{{Process: p(3, 2, 60)}, {Process: p(2, 8, 60), name: "sshd-session"}, {Process: p(8, 7, 60), name: "sshd-session", others: true}, {Process: p(7, 1, 5), name: "sshd", others: true}}, true},
		"a console":                           {terminal{{Process: p(3, 2, 60), name: "bash"}, {Process: p(2, 1, 60), name: "login", others: true}}, true},
		"docker exec":                         {terminal{{Process: p(3, 0, 60), name: "bash"}}, true},
		"the first process of a container":    {terminal{{Process: p(1, 0, 0), name: "bash"}}, true},
		"another's program far above":         {terminal{{Process: p(3, 2, 60)}, {Process: p(2, 9, 60), name: "script", master: true}, {Process: p(9, 1, 5), name: "Relay(9)", others: true}}, false},
	} {
		if got := tc.isOlder(50); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if old := (terminal{{Process: p(3, 1, 10)}}); old.isOlder(0) {
		t.Error("it is older than a client that cannot be seen")
	}
}
