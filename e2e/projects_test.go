package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// A Claude Code of one project asks an idle one of another project, once that project's person has
// allowed it. The other one is woken, and answers.
func TestAClaudeAsksAnotherProject(t *testing.T) {
	t.Parallel()
	l, amber, p := wakeLab(t, nil)
	proj, front, coral := l.Project, filepath.Join(filepath.Dir(l.Project), "front"), lab.NewModel(t)
	if err := os.Mkdir(front, 0o700); err != nil {
		t.Fatal(err)
	}
	l.Run("git", "init", "-q", "-b", "main", front)
	ask := lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"to": "amber@proj", "content": "word-which port", "kind": "question", "message_id": "q-1"})
	asks := func(args ...string) {
		l.Project = front
		defer func() { l.Project = proj }()
		p := l.Claude(coral, append([]string{"-p", "--allowedTools=mcp__c2c"}, args...)...)
		p.CloseInput()
		p.Wait()
	}
	coral.Script(register(lab.Claude, "coral"), ask, lab.Say("It is refused."))
	asks("please ask")
	refused := once(t, coral.WaitText("takes no messages from agents of front"), "takes no messages from agents of front")
	_, command, _ := strings.Cut(refused.Text, "a person runs: ")
	command, _, _ = strings.Cut(command, " front")
	if out := l.Shell(l.Env("PATH="+filepath.Dir(c2c())+":"+os.Getenv("PATH")), command+" front").Wait(); !strings.Contains(out, "Agents of these may: front.") {
		t.Fatalf("%s front: %s", command, out)
	}

	amber.Script(lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"in_reply_to": "q-1", "content": "word-8080"}), lab.Say("Answered."))
	coral.Script(ask, lab.Say("It is asked."))
	asks("--resume", coral.Wait(0).ClaudeSession(), "now it is allowed")
	if item := once(t, amber.WaitText("word-which port"), "word-which port"); !strings.Contains(item.Text, `from="coral@front"`) {
		t.Errorf("the question is %s", item.Text)
	}
	p.WaitScreen(0, "Answered.")
	coral.Script(lab.Say("It is 8080."))
	asks("--resume", coral.Wait(0).ClaudeSession(), "anything new?")
	if item := once(t, coral.WaitText("word-8080"), "word-8080"); !strings.Contains(item.Text, "amber@proj") {
		t.Errorf("the answer is %s", item.Text)
	}
	l.Project = front
	wantRead(t, l, "q-1", "stored in proj at")
	l.Project = proj
}
