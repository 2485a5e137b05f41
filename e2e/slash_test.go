package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// The person types the command that Claude Code makes of our prompt, for mail that wakes nobody.
// Its words are the person's; the mail stands beside them as the hook's.
func TestTheSlashCommandReadsTheMailOfClaude(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	p := l.ClaudeTUI(model)
	p.Submit("first prompt")
	model.WaitText("first prompt")
	p.WaitScreen(0, "Done.")
	claudeIdle(l, model) // before, its Stop hook would bring the mail; 2.1.332 runs it noticeably later
	l.Run("sh", "-c", sendWord("quiet")+" --deferrable")
	mark := p.Out.Mark()
	p.Send("/mcp__c2c__poll_inbox")
	p.WaitScreen(mark, "Read the mail that waits for this session") // the server is there, and has described it
	p.Send(lab.Enter)

	r := model.WaitText("word-quiet")
	if item := once(t, r, "word-quiet"); item.Role == "user" {
		t.Errorf("the mail is shown as the person's: %+v", item)
	}
	if item := once(t, r, "unless it is shown beside this"); item.Role != "user" || strings.Contains(item.Text, "word-quiet") {
		t.Errorf("the command is shown as %+v", item)
	}
	wantRead(t, l, "id-quiet", "read by hook")
}
