package e2e

import (
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// A client's own tools and own shell act in the name of its session: they make and release its
// claims. Another program cannot. Claude Code and OpenCode are in
// TestASenderIsKnownByItsProcessOrOnlyClaims; the shell of Codex has a sandbox.
func TestEachClientActsInItsOwnName(t *testing.T) {
	t.Parallel()
	shells := map[lab.Client]string{lab.Kimi: "Bash", lab.Qwen: "run_shell_command", lab.Gemini: "run_shell_command", lab.Copilot: "bash"}
	acting := slices.DeleteFunc(slices.Clone(ring), func(is link) bool { return shells[is.client] == "" })
	l, models, procs := roomLab(t, nil, acting, func(i int) func(*lab.Request) (lab.Reply, bool) {
		client := acting[i].client
		return func(r *lab.Request) (lab.Reply, bool) {
			switch {
			case len(r.Find("claim it now")) == 0:
				return lab.Say("Registered."), true
			case !called(r, "claim"):
				return lab.CallMCP(client, "c2c", "claim", map[string]any{"task": "docs-" + string(client)}), true
			case len(r.Find("give it up now")) == 0:
				return lab.Say("Claimed."), true
			case !called(r, shells[client]):
				command := map[string]any{"command": c2c() + " release 2>&1", "description": "release it"}
				if client == lab.Qwen {
					command["is_background"] = false
				}
				if client == lab.Copilot {
					command["mode"], command["initial_wait"] = "sync", 30
				}
				return lab.Call(shells[client], command), true
			}
			return lab.Say("Given up."), true
		}
	})
	for i, is := range acting {
		procs[i].Submit("claim it now")
		procs[i].WaitShown("Claimed.")
		if _, err := l.Try(c2c(), "release", "--from", memberOf(is)); err == nil || !strings.Contains(err.Error(), "only "+memberOf(is)+" may do this in its own name") {
			t.Errorf("another program releases the claim of %s: %v", is.client, err)
		}
		procs[i].Submit("give it up now")
		models[i].WaitText("released docs-" + string(is.client))
	}
	if out := l.Run(c2c(), "claims"); strings.TrimSpace(out) != "(no claims)" {
		t.Errorf("claims: %s", out)
	}
}
