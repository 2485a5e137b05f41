package callers

import (
	"testing"

	"c2c/sessions"
)

func TestATerminalIsAPersonsIfALoginOrATerminalProgramHasOpenedIt(t *testing.T) {
	p := func(pid, parent int, name string) opener {
		return opener{Process: sessions.Process{PID: pid, Parent: parent}, name: name}
	}
	others := func(o opener) opener { o.others = true; return o }
	shell, systemd := p(3, 2, "bash"), p(9, 1, "systemd")
	for name, tc := range map[string]struct {
		chain []opener
		want  bool
	}{
		"none, or it has left its leader":  {nil, false},
		"a window":                         {[]opener{shell, p(2, 9, "gnome-terminal-"), systemd}, true},
		"a pane":                           {[]opener{shell, p(2, 1, "tmux: server")}, true},
		"script in a window":               {[]opener{shell, p(2, 4, "script"), p(4, 5, "bash"), p(5, 1, "kitty")}, true},
		"script that was left behind":      {[]opener{shell, p(2, 1, "script")}, false},
		"script, below the user's systemd": {[]opener{shell, p(2, 9, "script"), systemd}, false},
		"script below shells":              {[]opener{shell, p(2, 4, "script"), p(4, 5, "sh"), p(5, 1, "env")}, false},
		"Python":                           {[]opener{shell, p(2, 1, "python3.12")}, false},
		"script, in WSL":                   {[]opener{shell, p(2, 9, "script"), others(p(9, 1, "Relay(9)"))}, false},
		"WSL":                              {[]opener{shell, others(p(2, 1, "Relay(9)"))}, true},
		"a leader that its terminal program has left": {[]opener{p(3, 9, "bash"), systemd}, false},
		"ssh":                              {[]opener{shell, p(2, 8, "sshd-session"), others(p(8, 1, "sshd"))}, true},
		"a console":                        {[]opener{shell, others(p(2, 1, "login"))}, true},
		"docker exec":                      {[]opener{p(3, 0, "bash")}, true},
		"the first process of a container": {[]opener{p(1, 0, "")}, true},
		"a login that is hidden":           {[]opener{p(3, 700, "bash")}, true},
	} {
		if why := noPerson(tc.chain); (why == "") != tc.want {
			t.Errorf("%s: %q", name, why)
		}
	}
}
