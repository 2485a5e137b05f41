package e2e

import (
	"testing"

	"c2c/e2e/lab"
)

// waitingCall is a call of a tool of ours that the model makes when hold is closed.
func waitingCall(c lab.Client, tool string) (call lab.Reply, hold chan struct{}) {
	hold = make(chan struct{})
	call = lab.CallMCP(c, "c2c", tool, map[string]any{})
	call.Hold = hold
	return call, hold
}

// Claude Code's hook shows mail after the call. The result brings none: a subagent's call looks
// like the session's.
func TestACallOfAToolShowsClaudeItsMailOnce(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	call, hold := waitingCall(lab.Claude, "me")
	model.ScriptFor("main-prompt", call, delegate("subagent-task"), lab.Say("Finished."))
	model.ScriptFor("subagent-task", bash(sendWord("inside")), lab.CallMCP(lab.Claude, "c2c", "me", map[string]any{}))
	p := l.Claude(model, "-p", "--allowedTools=mcp__c2c", "main-prompt")
	p.CloseInput()
	model.Wait(0)
	l.Run("sh", "-c", sendWord("meanwhile"))
	close(hold)
	p.Wait()
	var inside, main []*lab.Request
	for _, r := range model.Turns() { // the subagent's prompt stands in both conversations
		if len(r.Find("main-prompt")) > 0 {
			main = append(main, r)
		} else {
			inside = append(inside, r)
		}
	}
	once(t, main[1], "word-meanwhile")
	once(t, main[2], "word-meanwhile")
	once(t, main[2], "word-inside")
	if last := inside[len(inside)-1]; len(inside) != 3 || len(last.Find("word-inside")) > 0 || len(last.Find(`"alias"`)) != 1 {
		t.Errorf("the subagent made %d requests, the last:\n%s", len(inside), last)
	}
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// In Codex the result brings the mail, and its hooks then have nothing to announce or to show.
func TestACallOfAToolShowsCodexItsMailOnce(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	l.SeedCodex(model, "")
	l.Run(c2c(), "install", "codex")
	l.TrustCodexHooks()
	call, hold := waitingCall(lab.Codex, "list")
	model.Script(lab.CallMCP(lab.Codex, "c2c", "me", map[string]any{"alias": "amber"}), call, lab.Say("Finished."))
	p := l.CodexExec("please look")
	model.Wait(1)
	l.Run("sh", "-c", sendWord("meanwhile"))
	close(hold)
	p.Wait()
	last := model.Turns()[len(model.Turns())-1]
	if item := once(t, last, "word-meanwhile"); item.Role != "tool" || len(last.Find("waits for you")) > 0 || len(model.Turns()) != 3 {
		t.Errorf("shown as %+v, in:\n%s", item, last)
	}
	wantRead(t, l, "id-meanwhile", "read by tool_result")
}
