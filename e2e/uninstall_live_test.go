package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// c2c is uninstalled under a client that runs. Mail starts no turn there, no hook shows it or
// fails, and c2c's tools say what has happened. The mail waits, and a new install brings it.
func uninstalledWhileItRuns(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, client lab.Client, alias string, work lab.Reply) {
	t.Helper()
	l.Run(c2c(), "uninstall", string(client))
	turns := len(model.Turns())
	if receipt := l.Run("sh", "-c", sendAs("birch", alias, "meanwhile")); !strings.Contains(receipt, "c2c was uninstalled while its client ran, so nothing brings it mail") {
		t.Errorf("the sender is told %q", receipt)
	}
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"filtered"`) // it was looked at, and nobody was rung
	if n := len(model.Turns()); n != turns {
		t.Errorf("the mail has started %d turns", n-turns)
	}
	model.Script(work, lab.CallMCP(client, "c2c", "poll_inbox", map[string]any{}), lab.Say("After the uninstall."))
	p.Submit("prompt-after")
	p.WaitShown("After the uninstall.")
	after := model.Turns()[turns:]
	if got := after[len(after)-1].Last().Text; !strings.Contains(got, "c2c was uninstalled while this session ran") {
		t.Errorf("poll_inbox answers %q", got)
	}
	for _, r := range after {
		if got := r.Find("word-meanwhile"); len(got) > 0 {
			t.Errorf("the model has the mail: %+v", got)
		}
	}
	if shown := strings.ToLower(p.Screen()); strings.Contains(shown, "hook failed") || strings.Contains(shown, "hook error") || strings.Contains(shown, "not found") || strings.Contains(shown, "message waits") {
		t.Errorf("the person sees\n%s", p.Screen())
	}
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %q", got)
	}

	l.Run(c2c(), "install", string(client))
	model.Script(lab.Say("Served again."))
	l.Run("sh", "-c", sendAs("birch", alias, "again"))
	model.WaitText("word-again")
	p.WaitShown("Served again.")
	// A Claude Code that has just reloaded its hooks may run none for this prompt. Then c2c finds
	// the mail in the client's own record, some seconds later, and only an answer after that is
	// evidence. Until then the mail is leased, which counts as handed, too.
	for _, word := range []string{"meanwhile", "again"} {
		wantHandedOver(t, l, "id-"+word, "by")
	}
	model.Script(lab.Say("And once more."))
	p.Submit("prompt-later") // a client may read its new hooks only between two turns
	p.WaitShown("And once more.")
	for _, word := range []string{"meanwhile", "again"} {
		onlyOnce(t, model.Turns(), "word-"+word, "")
		wantRead(t, l, "id-"+word, "read by")
	}
}

func TestAClaudeThatRunsWhileC2CIsUninstalledIsLeftAlone(t *testing.T) {
	t.Parallel()
	// It reads its rules anew when they change: this one is the person's own, and stays.
	l, model, p := wakeLab(t, map[string]any{"permissions": map[string]any{"allow": []string{"Bash", "mcp__c2c"}}})
	uninstalledWhileItRuns(t, l, model, p, lab.Claude, "amber", bash("true"))
}

func TestACodexThatRunsWhileC2CIsUninstalledIsLeftAlone(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	uninstalledWhileItRuns(t, l, model, p, lab.Codex, "cody", shell("true"))
}

func TestAnOpenCodeThatRunsWhileC2CIsUninstalledIsLeftAlone(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	work := lab.Call("bash", map[string]any{"command": "true", "description": "run it"})
	uninstalledWhileItRuns(t, l, model, p, lab.OpenCode, "amber", work)
}
