package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// listed gives the row of an alias, or of the only session of a client.
func listed(l *lab.Lab, name string) (row sessions.Listed) {
	for _, r := range everyListed(l) {
		if r.Alias == name || r.Client == name {
			return r
		}
	}
	return row
}

// everyListed is what list says; none when that is no JSON.
func everyListed(l *lab.Lab) (rows []sessions.Listed) {
	if json.Unmarshal([]byte(l.Run(c2c(), "list", "--json")), &rows) != nil {
		return nil
	}
	return rows
}

// does waits until the list says so of a session, and gives its row.
func does(l *lab.Lab, name string, want sessions.State) (row sessions.Listed) {
	l.WaitUntil(name+" "+string(want), func() bool {
		row = listed(l, name)
		return row.Now.Does == want
	})
	return row
}

func TestACodexIsListedFromItsStartAndTellsWhatItDoes(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	p := l.CodexTUI("-a", "on-request", "-s", "workspace-write")
	row := does(l, "codex", sessions.Idle)
	if row.Now.Known != "server" || row.Now.Since.IsZero() {
		t.Errorf("before its first prompt %+v", row)
	}
	hold := make(chan struct{})
	model.Script(register(lab.Codex, "cody"), lab.Call("exec_command", map[string]any{
		"cmd": "touch " + touched(l), "sandbox_permissions": "require_escalated", "justification": "to ask its person"}).After(hold), lab.Say("Woken."))
	p.Submit("prompt-one")
	does(l, "cody", sessions.Busy)
	if got := l.Run("sh", "-c", sendAs("birch", "cody", "early")); !strings.Contains(got, "cody is in a turn (") {
		t.Errorf("a receipt while it is in a turn %q", got)
	}
	if got := status(l, "id-early"); !strings.Contains(got, "cody is in a turn (") {
		t.Errorf("a status while it is in a turn %q", got)
	}
	close(hold)
	does(l, "cody", sessions.Waiting)
	if got := l.Run("sh", "-c", sendAs("birch", "cody", "late")); !strings.Contains(got, "cody waits for its person (") {
		t.Errorf("a receipt while a dialog is open %q", got)
	}
	if got := status(l, "id-late"); !strings.Contains(got, "cody waits for its person (") || !strings.Contains(got, "answer the dialog") {
		t.Errorf("a status while a dialog is open %q", got)
	}
	p.Send(lab.Esc)
	model.WaitText("word-late")
	p.WaitShown("Woken.")
	does(l, "cody", sessions.Idle)
	l.Run(c2c(), "dnd", "on", "--session-id", "cody")
	l.Run("sh", "-c", sendAs("birch", "cody", "quiet"))
	if got := status(l, "id-quiet"); !strings.Contains(got, "cody is idle (") || !strings.Contains(got, "it does not want to be disturbed") {
		t.Errorf("a status in do-not-disturb %q", got)
	}
	if row := listed(l, "cody"); row.Count != 1 || !row.Quiet || row.LastRead.IsZero() {
		t.Errorf("listed in do-not-disturb as %+v", row)
	}
}
