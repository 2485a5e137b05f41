package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// idOf finds the id in the envelope around a text, as the model sees it.
var idOf = regexp.MustCompile(`\bid=\\?"([0-9a-f-]+)\\?"`)

// replies has a model answer the question once, by what it is shown of it.
func replies(c lab.Client, question, answer string, hold <-chan struct{}) func(*lab.Request) (lab.Reply, bool) {
	answered := false
	return func(r *lab.Request) (lab.Reply, bool) {
		found := r.Find(question)
		if answered || len(found) == 0 {
			return lab.Reply{}, false
		}
		text := found[0].Text
		ids := idOf.FindAllStringSubmatch(text[:strings.Index(text, question)], -1)
		if len(ids) == 0 {
			return lab.Say("no id before " + question), true
		}
		answered = true
		id := ids[len(ids)-1][1]
		return lab.CallMCP(c, "c2c", "send", map[string]any{"in_reply_to": id[len(id)-8:], "content": answer}).After(hold), true
	}
}

func asks(c lab.Client, to, question string, seconds int) lab.Reply {
	return lab.CallMCP(c, "c2c", "ask", map[string]any{"to_alias": to, "content": question, "wait_seconds": seconds})
}

// What one asks the other answers, idle as it is; the answer is the result of the call, and nobody
// has it again.
func TestClaudeAndCodexAskEachOther(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	codex.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	q := l.CodexTUI()
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Registered.")
	codexIdle(l, 1)
	p := claudeAt(t, l, claude, "--permission-mode", "default")

	codex.Answer(replies(lab.Codex, "question-of-claude", "answer-of-codex", nil))
	codex.Script(lab.Say("Replied."))
	claude.Script(asks(lab.Claude, "cody", "question-of-claude", 600), lab.Say("Thanks."))
	p.Submit("please ask")
	once(t, claude.WaitText("answer-of-codex"), "answer-of-codex")
	p.WaitShown("Thanks.")
	q.WaitShown("Replied.")
	codexIdle(l, 2)
	claudeIdle(l, claude)

	claude.Answer(replies(lab.Claude, "question-of-codex", "answer-of-claude", nil))
	claude.Script(lab.Say("Replied too."))
	codex.Script(asks(lab.Codex, "amber", "question-of-codex", 600), lab.Say("Thanks too."))
	q.Submit("please ask back")
	once(t, codex.WaitText("answer-of-claude"), "answer-of-claude")
	q.WaitShown("Thanks too.")
	p.WaitShown("Replied too.")
	codexIdle(l, 3)
	claudeIdle(l, claude)

	// The time is over before Codex has answered: what comes then is mail, and says what it
	// answers.
	late := make(chan struct{})
	codex.Answer(replies(lab.Codex, "second-question", "late-answer", late))
	claude.Script(asks(lab.Claude, "cody", "second-question", 1), lab.Say("It will come."), lab.Say("Here it is."))
	p.Submit("please ask again")
	once(t, claude.WaitText(`"answered":false`), `"answered":false`)
	p.WaitShown("It will come.")
	claudeIdle(l, claude)
	codex.WaitText("second-question")
	close(late)
	item := once(t, claude.WaitText("late-answer"), "late-answer")
	if !strings.Contains(item.Text, "in_reply_to=") && !strings.Contains(item.Text, "answers=") {
		t.Errorf("the late answer is shown as %+v", item)
	}
	p.WaitShown("Here it is.")

	onlyOnce(t, claude.Turns(), "answer-of-codex", "tool")
	onlyOnce(t, codex.Turns(), "answer-of-claude", "tool")
	onlyOnce(t, claude.Turns(), "late-answer", "user")
	eventually(t, func() bool { return strings.Count(l.Run(c2c(), "outbox", "--from", "cody"), "read ") == 3 })
	var sent []struct{ Content, By string }
	if err := json.Unmarshal([]byte(l.Run(c2c(), "outbox", "--from", "cody", "--json")), &sent); err != nil {
		t.Fatal(err)
	}
	for _, m := range sent {
		if by := map[string]string{"answer-of-codex": "ask", "late-answer": "socket", "question-of-codex": m.By}[m.Content]; by == "" || m.By != by {
			t.Errorf("%s was read by %q, want %q", m.Content, m.By, by)
		}
	}
}
