package e2e

import (
	"fmt"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// These tests give no session a name in its environment: who is who comes from the clients alone.

// sendAs is a shell command by which the session registered as from sends one word, put together
// there.
func sendAs(from, to, word string) string {
	return fmt.Sprintf("printf 'word-%%s' %s | C2C_MCP_SESSION_ID=%s %s send %s --id id-%[1]s -", word, from, c2c(), to)
}

// register has the client's model take an alias by tool.
func register(c lab.Client, alias string) lab.Reply {
	return lab.CallMCP(c, "c2c", "me", map[string]any{"alias": alias})
}

func toolSend(c lab.Client, to, body, id string) lab.Reply {
	return lab.CallMCP(c, "c2c", "send", map[string]any{"to_alias": to, "content": body, "message_id": id})
}

func toolStatus(c lab.Client, id string) lab.Reply {
	return lab.CallMCP(c, "c2c", "look", map[string]any{"at": "status", "of": id})
}

func whoami(c lab.Client) lab.Reply {
	return lab.CallMCP(c, "c2c", "me", map[string]any{})
}

// onlyOnce fails unless text, once seen, stays in the conversation exactly one time and in role.
func onlyOnce(t *testing.T, turns []*lab.Request, text, role string) {
	t.Helper()
	seen := false
	for _, r := range turns {
		if seen = seen || len(r.Find(text)) > 0; !seen {
			continue
		}
		if item := once(t, r, text); role != "" && item.Role != role {
			t.Fatalf("%q is shown as %+v, want role %s", text, item, role)
		}
	}
	if !seen {
		t.Fatalf("the model never saw %q", text)
	}
}

// Both are alive from the first message to the last status.
func TestClaudeAndCodexTalkWhileTheyWork(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	there, sent, answered, shown := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	claude.Script(
		register(lab.Claude, "claudia"),
		toolSend(lab.Claude, "cody", "word-from-claude", "m-1").After(there),
		bash("true").After(answered),
		toolStatus(lab.Claude, "m-1"),
		lab.Say("Finished."))
	codex.Script(
		register(lab.Codex, "cody"),
		whoami(lab.Codex).After(sent), // the result brings the mail, so that its hook has none to announce
		toolSend(lab.Codex, "claudia", "word-from-codex", "m-2"),
		toolStatus(lab.Codex, "m-2").After(shown),
		lab.Say("Finished."))
	p := l.Claude(claude, "-p", "please write")
	p.CloseInput()
	// Its own tools must run where the sandbox allows nothing and nobody can be asked.
	q := l.CodexExec("-s", "workspace-write", "please answer")

	claude.Wait(1)
	codex.Wait(1)
	close(there)
	claude.Wait(2)
	close(sent)
	codex.Wait(3)
	close(answered)
	claude.WaitText("word-from-codex")
	claude.Wait(4) // it has answered that, with a call of a tool
	close(shown)
	p.Wait()
	q.Wait()

	onlyOnce(t, claude.Turns(), "word-from-codex", "")
	onlyOnce(t, codex.Turns(), "word-from-claude", "tool")
	if last := codex.Turns()[len(codex.Turns())-1]; len(last.Find("waits for you: claudia")) > 0 {
		t.Errorf("what the model has is announced:\n%s", last)
	}
	for _, m := range []*lab.Model{claude, codex} {
		once(t, m.WaitText(`"state":"read"`), `"state":"read"`)
	}
}

// The daemon has one environment and one process for both threads.
func TestTwoCodexThreadsOfOneDaemonHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	aliases := []string{"cody", "dora"}
	threads, clients := map[string]string{}, map[string]*lab.Proc{}
	for _, alias := range aliases {
		model.ScriptFor("prompt-of-"+alias, register(lab.Codex, alias), lab.Say("Ready."))
		p := l.CodexTUI()
		p.Submit("prompt-of-" + alias)
		p.WaitScreen(0, "Ready.")
		clients[alias], threads[alias] = p, model.WaitText("prompt-of-"+alias).CodexThread()
		l.Run("sh", "-c", sendAs("birch", alias, "for-"+alias))
	}
	if threads["cody"] == threads["dora"] {
		t.Fatalf("both are thread %s", threads["cody"])
	}
	for _, alias := range aliases {
		clients[alias].Submit("anything new?")
		mail := model.WaitText("word-for-" + alias)
		if mail.CodexThread() != threads[alias] {
			t.Errorf("mail for %s is shown to thread %s", alias, mail.CodexThread())
		}
		// By its Stop hook, or by the server when it was idle already.
		if item := once(t, mail, "word-for-"+alias); item.Role != "user" && item.Role != "tool" {
			t.Errorf("the body is shown as %+v", item)
		}
	}
}

func TestMailboxStaysAfterClearAndResume(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	model.Script(register(lab.Claude, "amber"), lab.Say("Registered."))
	p := l.ClaudeTUI(model)
	p.Submit("prompt-one")
	p.WaitShown("Registered.")
	clears(p, "/clear", "Registered.", "shift+tab to cycle", "? for shortcuts")
	l.Run("sh", "-c", sendAs("birch", "amber", "cleared"))
	model.Script(whoami(lab.Claude), lab.Say("Cleared."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Cleared.")
	cleared := model.WaitText("prompt-two").ClaudeSession()
	p.Command("/exit")
	p.Wait()

	// It is away now, and its mail waits for the first turn after --resume. The session that /clear
	// left behind is a past of the same mailbox.
	old := model.Wait(0).ClaudeSession()
	if old == cleared {
		t.Fatalf("/clear kept session %s", old)
	}
	for _, id := range []string{cleared, old} {
		word := "resumed-" + id
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		model.Script(whoami(lab.Claude), lab.Say("Resumed."))
		p := l.ClaudeTUI(model, "--resume", id)
		p.Submit("prompt-" + word)
		model.WaitText("prompt-" + word)
		p.WaitScreen(0, "Resumed.")
		model.WaitText("word-" + word) // with the prompt, or the ring was first
		onlyOnce(t, model.Turns(), "word-"+word, "")
		p.Command("/exit")
		p.Wait()
	}
	var after []*lab.Request // of the conversation that began with /clear
	named := 0
	for _, r := range model.Turns() {
		if r.ClaudeSession() == cleared {
			after = append(after, r)
		}
		for _, item := range r.Items {
			if item.Role != "tool" || !strings.Contains(item.Text, `"alias":`) {
				continue
			}
			if named++; !strings.Contains(item.Text, `"alias":"amber"`) {
				t.Errorf("whoami says %s", item.Text)
			}
		}
	}
	onlyOnce(t, after, "word-cleared", "")
	if named == 0 {
		t.Error("whoami never answered")
	}
}

// After /clear the first window has another conversation, and goes on to have the mail.
func TestAConversationThatClaudeHasLeftIsAnotherSessionElsewhere(t *testing.T) {
	t.Parallel()
	l, one := claudeLab(t, nil)
	two := lab.NewModel(t)
	p := claudeAt(t, l, one)
	p.Command("/clear")
	one.Script(lab.Say("Cleared."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Cleared.")

	two.Script(whoami(lab.Claude), lab.Say("Resumed."))
	q := l.ClaudeTUI(two, "--resume", one.Wait(0).ClaudeSession())
	q.Submit("prompt-three")
	q.WaitShown("Resumed.")
	resumed := two.Wait(1)
	prompt := resumed.Find("prompt-three")[0].Message
	for _, item := range resumed.Find(`"alias":"amber"`) {
		if item.Message > prompt { // before it is what the other window was told
			t.Errorf("two windows are one session: %+v", item)
		}
	}
	one.Script(lab.Say("Read."))
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	onlyOnce(t, []*lab.Request{one.WaitText("word-later")}, "word-later", "")
	for _, r := range two.Turns() {
		if got := r.Find("word-later"); len(got) > 0 {
			t.Errorf("the other window has its mail: %+v", got)
		}
	}
}

// A second terminal in the same project is another session, though the first is resumed beside it.
func TestTwoClaudeSessionsInOneProjectHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, one, two := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	sent := make(chan struct{})
	one.Script(register(lab.Claude, "amber"), bash("true").After(sent), lab.Say("Finished."))
	two.Script(register(lab.Claude, "coral"), bash("true").After(sent), lab.Say("Finished."))
	p, q := l.Claude(one, "-p", "prompt-one"), l.Claude(two, "-p", "prompt-two")
	p.CloseInput()
	q.CloseInput()
	one.Wait(1)
	two.Wait(1)
	l.Run("sh", "-c", sendAs("birch", "amber", "for-amber"))
	l.Run("sh", "-c", sendAs("birch", "coral", "for-coral"))
	close(sent)
	p.Wait()
	q.Wait()
	onlyOnce(t, one.Turns(), "word-for-amber", "")
	onlyOnce(t, two.Turns(), "word-for-coral", "")
	for _, wrong := range [][]lab.Item{one.Wait(2).Find("word-for-coral"), two.Wait(2).Find("word-for-amber")} {
		if len(wrong) > 0 {
			t.Errorf("mail for the other session: %+v", wrong)
		}
	}
}
