package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/e2e/lab"
	"c2c/sessions"
)

// An idle session is rung for a question, says something else, and is rung once more when the
// answer is due: then it answers.
func TestAnIdleClaudeIsRemindedOfItsAnswer(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	model.Script(lab.Say("Read it."), lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"in_reply_to": "q-1", "content": "word-8080"}), lab.Say("Answered."))
	l.Run(c2c(), "send", "--session-id", "birch", "amber", "word-which port", "--kind", "question", "--answer-by", "10s", "--id", "q-1")
	once(t, model.WaitText("word-which port"), "word-which port")
	const reminder = "waits for your answer to its question q-1"
	item := once(t, model.WaitText(reminder), reminder)
	if !strings.Contains(item.Text, `from="c2c-system"`) {
		t.Errorf("the reminder is %s", item.Text)
	}
	p.WaitScreen(0, "Answered.")
	var list []broker.Obligation
	out := l.Run(c2c(), "obligations", "--all", "--session-id", "birch", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		t.Fatalf("obligations %s, %v", out, err)
	}
	o := list[0]
	if o.State != owed.Answered || o.Reminders == 0 || o.Surface != sessions.SurfaceFull || o.Wakes.Count == 0 || o.Wakes.RangAt.IsZero() || o.ObservedAt.IsZero() || !o.ClosedAt.After(o.Due) {
		t.Errorf("obligation %+v", o)
	}
	onlyOnce(t, model.Turns(), "word-which port", "user")
}
