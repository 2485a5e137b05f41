package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// What the guide of Claude Code says of plan mode, and of settings with which its person limits the
// model.
func TestWhatLimitsClaudesModelLimitsItsMail(t *testing.T) {
	send := lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"to_alias": "birch", "content": "hello"})
	const asks = "Do you want to proceed"
	for name, is := range map[string]struct {
		permissions map[string]any
		mode        string
		calls       lab.Reply
		want        string // in the tool's result, or asks
	}{
		"plan mode asks before send":     {map[string]any{}, "plan", send, asks},
		"plan mode reads":                {map[string]any{}, "plan", lab.CallMCP(lab.Claude, "c2c", "list", map[string]any{}), `"alias":"birch"`},
		"denied instead of asked":        {map[string]any{"denyInsteadOfPrompting": true}, "plan", send, "Permission for this tool use was denied"},
		"what is allowed is not denied":  {map[string]any{"denyInsteadOfPrompting": true}, "default", send, `"queued":true`},
		"a file outside its directories": {map[string]any{"blockReadsOutsideWorkingDirectories": true}, "default", lab.Call("Read", map[string]any{"file_path": "/etc/passwd"}), "blocks reads outside the working directories"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, model := claudeLab(t, map[string]any{"permissions": is.permissions})
			p := l.ClaudeTUI(model, "--permission-mode", is.mode)
			model.Script(is.calls, lab.Say("Finished."))
			p.Submit("prompt-one")
			if got := p.WaitShown(asks, "Finished."); is.want == asks || got == 0 {
				if (got == 0) != (is.want == asks) {
					t.Errorf("its screen: %s", p.Screen())
				}
				return
			}
			if last := model.Turns()[len(model.Turns())-1].Find(is.want); len(last) != 1 || last[0].Role != "tool" {
				t.Errorf("no %q in the result:\n%s", is.want, strings.Join(strings.Fields(model.Dump()), " "))
			}
		})
	}
}
