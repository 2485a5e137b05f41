package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/e2e/lab"
)

// c2c is the program under test.
func c2c() string { return filepath.Join(os.Getenv("C2C_E2E_BIN"), "c2c") }

// sendWord is a shell command by which birch sends amber the text "word-<word>".
// The text is put together there, so that the command itself does not hold it.
func sendWord(word string) string {
	return "printf 'word-%s' " + word + " | C2C_MCP_SESSION_ID=birch " + c2c() + " send amber --id id-" + word + " -"
}

// mailLab has two mailboxes, and runs its clients as amber.
func mailLab(t *testing.T) *lab.Lab {
	l := newLab(t)
	for _, name := range []string{"amber", "birch"} {
		l.Run(c2c(), "register", name, "--session-id", name)
	}
	l.Setenv("C2C_MCP_SESSION_ID", "amber")
	return l
}

func status(l *lab.Lab, id string) string { return l.Run(c2c(), "status", id) }

// wantRead waits until a message was read: the client may have it before its receipt is on the
// disk.
func wantRead(t *testing.T, l *lab.Lab, id, by string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(status(l, id), "read by") })
	if got := status(l, id); !strings.Contains(got, by) {
		t.Errorf("status %q, want %s", got, by)
	}
}

// wantUnanswered waits until the client has a message whose answer its model still thinks about.
func wantUnanswered(t *testing.T, l *lab.Lab, id, by string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(status(l, id), "its model has not answered since") })
	if got := status(l, id); !strings.Contains(got, by) {
		t.Errorf("status %q, want %s", got, by)
	}
}

// wantHandedOver waits until the client has a message, whose receipt may come behind the model's
// answer to it.
func wantHandedOver(t *testing.T, l *lab.Lab, id, by string) {
	t.Helper()
	eventually(t, func() bool {
		got := status(l, id)
		return strings.Contains(got, "read "+by) || strings.Contains(got, "handed "+by) && strings.Contains(got, "has not answered since")
	})
}

// eventually returns when ok says true. After a minute there is nothing to be hoped for: the test
// has failed, and what it looks at next tells more.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Error("what it waits for does not come")
			return
		}
	}
}

func TestClaudeReceivesMailWithTheNextRequest(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	l.Run("sh", "-c", sendWord("before"))
	model.Script(bash(sendWord("meanwhile")), bash("true"), lab.Say("Finished."))
	p := l.Claude(model, "-p", "please run it")
	p.CloseInput()
	p.Wait()

	once(t, model.Wait(0), "word-before") // sent before the session started
	second := model.Wait(1)
	item := once(t, second, "word-meanwhile")
	t.Logf("mail after a tool call: %+v", item)

	last := model.Wait(2)
	once(t, last, "word-before")
	once(t, last, "word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

func TestCodexReceivesMailAndNeverAsDeveloper(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	l.SeedCodex(model, "")
	l.Run(c2c(), "install", "codex")
	if n := l.TrustCodexHooks(); n != 5 {
		t.Fatalf("Codex knows %d hooks, want 5", n)
	}
	model.Script(
		shell("printf 'word-%s' meanwhile | C2C_MCP_SESSION_ID=birch "+c2c()+" send-all - --json"),
		shell("true"), lab.Say("Finished."), lab.Say("Read it."))
	l.CodexExec("please run it").Wait()

	if item := once(t, model.Wait(1), "waits for you"); !strings.Contains(item.Text, "waits for you: birch (claimed).") {
		t.Errorf("announced as %+v", item)
	}
	last := model.Wait(3)
	once(t, last, "waits for you")
	if item := once(t, last, "word-meanwhile"); item.Role != "user" {
		t.Errorf("the body is shown as %+v", item)
	}
}

func TestClaudeAndCodexWriteToEachOther(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_CLIENT_TYPE", "")
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()

	// Codex takes an alias, and goes; Claude writes to it, and goes; each reads in a later process.
	codex.Script(lab.CallMCP(lab.Codex, "c2c", "me", map[string]any{"alias": "cody"}), lab.Say("Registered."))
	l.CodexExec("please register").Wait()
	thread := codex.Wait(0).CodexThread()

	claude.Script(
		lab.CallMCP(lab.Claude, "c2c", "me", map[string]any{"alias": "claudia"}),
		lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"to_alias": "cody", "content": "word-from-claude", "message_id": "m-1"}),
		lab.Say("Sent."))
	p := l.Claude(claude, "-p", "--allowedTools=mcp__c2c", "please write")
	p.CloseInput()
	p.Wait()

	codex.Script(
		lab.CallMCP(lab.Codex, "c2c", "poll_inbox", map[string]any{}),
		lab.CallMCP(lab.Codex, "c2c", "send", map[string]any{"to_alias": "claudia", "content": "word-from-codex", "message_id": "m-2"}),
		lab.CallMCP(lab.Codex, "c2c", "look", map[string]any{"at": "status", "of": "m-1"}),
		lab.Say("Answered."))
	l.CodexExec("resume", thread, "please answer").Wait()
	once(t, codex.Wait(3), "word-from-claude")
	codex.WaitText(`"state":"read"`)

	claude.Script(lab.Say("Thanks."))
	p = l.Claude(claude, "-p", "--resume", claude.Wait(0).ClaudeSession(), "anything new?")
	p.CloseInput()
	p.Wait()
	once(t, claude.Wait(3), "word-from-codex")
	wantRead(t, l, "m-2", "read by")
}

func TestASubagentDoesNotSwallowTheMainThreadsMail(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	model.Answer(subagent("subagent-task", bash(sendWord("meanwhile"))))
	model.Script(delegate("subagent-task"), lab.Say("Finished."))
	p := l.Claude(model, "-p", "main-prompt")
	p.CloseInput()
	p.Wait()

	for _, r := range model.Turns() {
		main := len(r.Find("main-prompt")) > 0
		if found := len(r.Find("word-meanwhile")); found > 0 && !main {
			t.Errorf("the subagent was shown the mail:\n%s", r)
		}
	}
	once(t, model.WaitText("word-meanwhile"), "main-prompt")
}
