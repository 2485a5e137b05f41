package e2e

import (
	"fmt"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// devServer is a command that goes on when the turn is over, and how a client's model starts it.
func devServer(l *lab.Lab, c lab.Client) lab.Reply {
	command := fmt.Sprintf("echo $$ > %s/server; exec sleep 600", l.Home)
	switch c {
	case lab.Codex:
		return lab.Call("exec_command", map[string]any{"cmd": command, "yield_time_ms": 250})
	case lab.OpenCode: // its shell has nothing for the background
		return lab.Call("bash", map[string]any{"command": "sh -c '" + command + "' > /dev/null 2>&1 &", "description": "serve"})
	case lab.Kimi:
		return lab.Call("Bash", map[string]any{"command": command, "run_in_background": true, "disable_timeout": true, "description": "serve"})
	case lab.Copilot:
		return lab.Call("bash", map[string]any{"command": command, "description": "serve", "mode": "async", "detach": false})
	case lab.Claude:
		return lab.Call("Bash", map[string]any{"command": command, "run_in_background": true, "description": "serve"})
	default:
		return lab.Call("run_shell_command", map[string]any{"command": command, "description": "serve", "is_background": true})
	}
}

func TestASessionWithADevServerIsIdleAndWoken(t *testing.T) {
	for _, is := range ring {
		t.Run(string(is.client), func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			is.seed(l, model)
			if is.client == lab.Claude { // its auto mode would ask a server of Anthropic about the command
				is.start = func(l *lab.Lab, m *lab.Model) *lab.Proc { return l.ClaudeTUI(m, "--permission-mode", "default") }
			}
			l.Run(c2c(), "install", string(is.client))
			if is.client == lab.Codex {
				l.TrustCodexHooks()
			}
			l.Run(c2c(), "register", "birch", "--session-id", "birch")
			model.Answer(func(r *lab.Request) (lab.Reply, bool) {
				if r.Last().Role == "user" && len(r.Find("start the server")) > 0 && len(r.Find("word-meanwhile")) == 0 {
					return devServer(l, is.client), true
				}
				return readsMail(is.client, r), true
			})
			p := startsAsAmber(l, model, is)
			p.Submit("start the server")
			l.WaitFile("server", "\n")
			if is.client == lab.Copilot { // it counts its shells as a part of the turn
				p.WaitShown("Waiting for background shells")
			} else {
				does(l, "amber", sessions.Idle)
			}
			if is.client == lab.Claude {
				if got := l.Run(c2c(), "notify", "amber", "--when", "idle", "--from", "birch"); !strings.Contains(got, "in the background still runs") {
					t.Errorf("notify says %s", got)
				}
			}
			l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
			model.WaitText("word-meanwhile")
			wantRead(t, l, "id-meanwhile", "read by")
			if _, err := l.Try("sh", "-c", "kill -0 $(cat ~/server)"); err != nil {
				t.Error("its server does not run any more")
			}
		})
	}
}
