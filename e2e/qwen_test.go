package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

func qwenTool(tool string, input map[string]any) lab.Reply {
	return lab.CallMCP(lab.Qwen, "c2c", tool, input)
}

func qwenShell(command string) lab.Reply {
	return lab.Call("run_shell_command", map[string]any{"command": command, "description": "run it", "is_background": false})
}

// qwenMail has a Qwen that c2c is installed in, and a birch who writes.
func qwenMail(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedQwen(settings)
	l.Run(c2c(), "install", "qwen")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// qwenAt has an idle Qwen amber.
func qwenAt(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := qwenMail(t, settings)
	model.Script(qwenTool("me", map[string]any{"alias": "amber"}), lab.Say("Registered."))
	p := l.QwenTUI(model)
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	hooksSayIdle(l, "amber")
	return l, model, p
}

// qwenClears starts a new session in the window of amber. The client draws its prompt, takes it
// away while hooks run, and draws it again: what is typed before that is lost.
func qwenClears(l *lab.Lab, p *lab.Proc, end string) {
	hooksSayIdle(l, "amber")
	clears(p, "/clear", end, "Type your message")
	amberGoesOn(l)
	p.WaitShown("Type your message")
	hooksSayIdle(l, "amber")
}

// amberGoesOn waits until c2c knows that amber's window shows another conversation.
func amberGoesOn(l *lab.Lab) {
	l.WaitUntil("another conversation of amber", func() bool {
		paths, _ := filepath.Glob(l.Home + "/.c2c/repos/*/broker/sessions/*.json")
		return slices.ContainsFunc(paths, func(path string) bool {
			var row struct {
				Alias     string
				ClientIDs []string `json:"client_ids"`
			}
			data, _ := os.ReadFile(path) // it may be replaced now
			return json.Unmarshal(data, &row) == nil && row.Alias == "amber" && len(row.ClientIDs) == 2
		})
	})
}

func TestIdleQwenIsWoken(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	wakes(t, l, model, p, func() { hooksSayIdle(l, "amber") }, "amber", "user", "read by socket")
	if item := once(t, model.WaitText("word-wake-0\n"), "word-wake-0\n"); !strings.Contains(item.Text, "Answer with c2c's tool send") {
		t.Errorf("the model does not read how to answer: %q", item.Text)
	}
	wantRings(t, l, 5)
}

// A tool's hook brings mail to the turn that runs, and nobody rings.
func TestABusyQwenHasItsMailInTheSameTurn(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	release := make(chan struct{})
	model.Script(qwenShell("true").After(release), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	close(release)
	r := model.WaitText("word-meanwhile")
	if item := once(t, r, "word-meanwhile"); item.Role != "tool" {
		t.Errorf("shown as %+v", item)
	}
	p.WaitScreen(0, "Finished.")
	seesRecorded(t, l, p, lab.Qwen, "turn", "word-meanwhile")
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	wantRead(t, l, "id-meanwhile", "read by hook")
	if n := rings(l, "rang"); n != 0 {
		t.Errorf("%d rings", n)
	}
	wantMailboxes(t, l, lab.Qwen, 1)
}

// No hook tells of a turn that mail has started; what comes then is no other ring.
func TestMailInATurnThatMailHasStartedIsReadInIt(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	release := make(chan struct{})
	model.Script(qwenShell("true").After(release), lab.Say("Finished."))
	l.Run("sh", "-c", sendAs("birch", "amber", "first"))
	model.WaitText("word-first")
	wantUnanswered(t, l, "id-first", "handed by socket")
	l.Run("sh", "-c", sendAs("birch", "amber", "second"))
	close(release)
	model.WaitText("word-second")
	p.WaitScreen(0, "Finished.")
	onlyOnce(t, model.Turns(), "word-second", "tool")
	wantRead(t, l, "id-second", "read by hook")
	wantRings(t, l, 1)
}

// Without a tool call the end of the turn brings it.
func TestMailAtTheEndOfATurnOfQwenContinuesIt(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	release := make(chan struct{})
	model.Script(lab.Say("Thought.").After(release), lab.Say("Answered."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	close(release)
	item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	if item.Role != "user" {
		t.Errorf("shown as %+v", item)
	}
	p.WaitScreen(0, "Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// Its tools and its shells speak for the same session, after /clear too; a resume finds the mailbox
// again.
func TestAWindowOfQwenHasOneMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	whoSays := func(prompt string) {
		t.Helper()
		model.Script(qwenShell(c2c()+" whoami"), qwenTool("me", map[string]any{}), lab.Say("Known: "+prompt))
		p.Submit(prompt)
		p.WaitScreen(0, "Known: "+prompt)
		answersAreAmbers(t, model, 2)
		hooksSayIdle(l, "amber")
		wantMailboxes(t, l, lab.Qwen, 1)
	}
	whoSays("prompt-two")
	qwenClears(l, p, "Known: prompt-two")
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "cleared"))
	if r := model.WaitText("word-cleared"); len(r.Find("prompt-one")) > 0 {
		t.Errorf("the mail went to the session before /clear:\n%s", r)
	}
	p.WaitScreen(0, "Woken.")
	wantRead(t, l, "id-cleared", "read by socket")
	hooksSayIdle(l, "amber")
	whoSays("prompt-three")
	p.Command("/quit")
	p.Wait()
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	model.Script(lab.Say("Back."))
	p = l.QwenTUI(model, "--continue")
	model.WaitText("word-later") // it is idle, so it is woken
	p.WaitScreen(0, "Back.")
	onlyOnce(t, model.Turns(), "word-later", "user")
	wantRead(t, l, "id-later", "read by")
	whoSays("prompt-four")
}

// A subagent has no mailbox and is given no mail.
func TestASubagentOfQwenHasNoMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	left := inside(model, "prompt-one", qwenShell(sendAs("birch", "amber", "meanwhile")), qwenShell("true"),
		qwenTool("me", map[string]any{}), lab.Say("Subagent says done."))
	model.Script(lab.Call("agent", map[string]any{"description": "work", "prompt": "prompt-of-the-subagent", "subagent_type": "general-purpose", "run_in_background": false}),
		lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Finished.")
	model.WaitText("word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by hook")
	mailStaysOutside(t, l, model, lab.Qwen, "prompt-one", left)
}

// A dialog stays for the person; the mail comes behind the answer.
func TestADialogOfQwenStaysUntouched(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, map[string]any{"tools": map[string]any{"approvalMode": "default"}})
	model.Script(qwenShell("touch ran && until test -e go; do sleep 0.1; done"), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Yes, allow once")
	does(l, "amber", sessions.Waiting)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %s", got)
	}
	if _, err := l.Try("test", "!", "-e", "ran"); err != nil {
		t.Error("the command ran though nobody allowed it")
	}
	p.Send(lab.Enter)
	does(l, "amber", sessions.Busy) // what its person has allowed runs
	l.WriteProject("go", "")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitScreen(0, "Finished.")
	seesRecorded(t, l, p, lab.Qwen, "dialog", "word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by hook")
	if n := rings(l, "rang"); n != 0 {
		t.Errorf("%d rings", n)
	}
}

// Esc ends a turn without its Stop hook.
func TestMailOfAnInterruptedQwenIsReadAfterIt(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	readAfterEsc(t, l, model, p, func() {})
	wantRead(t, l, "id-meanwhile", "read by socket")
	wantRings(t, l, 1)
}

// Whoever lets no other session write is not written to: the next prompt brings the mail.
func TestARefusalOfQwenIsTold(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, map[string]any{"agents": map[string]any{"crossSessionInbound": "refuse"}})
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "refused") })
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") || !strings.Contains(got, "crossSessionInbound") {
		t.Errorf("status %s", got)
	}
	model.Script(lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Finished.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// Mail that its person is to accept first is nobody else's until then.
func TestMailThatQwenHoldsIsTold(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, map[string]any{"agents": map[string]any{"crossSessionInbound": "hold"}})
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "/peers") })
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %s", got)
	}
	model.Script(lab.Say("Finished."), lab.Say("Woken."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Finished.")
	if n := len(model.Turns()[len(model.Turns())-1].Find("word-meanwhile")); n > 0 {
		t.Error("the model has what nobody accepted")
	}
	hooksSayIdle(l, "amber")
	p.Command("/peers")
	p.WaitShown("1 message waiting") // what it has not listed it does not accept
	p.Command("/peers accept all")
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Woken.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by socket")
}

// Two windows in one project, one of them with a name from c2c start, and mail before its first
// prompt.
func TestTwoQwensInOneProjectHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	second := l.Terminal(l.QwenEnv(model), c2c(), "start", "--alias", "coral", "qwen")
	second.WaitShown("Type your message")
	eachWindowHasItsMail(t, l, model, p, second, "prompt-one", "amber", "read by socket")
	wantMailboxes(t, l, lab.Qwen, 2)
}

// Of forty messages at once the client would drop ten, and each of the others would be a turn.
func TestABurstToQwenIsAFewTurns(t *testing.T) {
	t.Parallel()
	l, model, _ := qwenAt(t, nil)
	sent := make(chan struct{})
	model.Script(lab.Say("Read.").After(sent)) // or a busy machine sends more slowly than it reads
	calls := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lab","version":"0"}}}` + "\n"
	for i := 100; i < 140; i++ {
		calls += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send","arguments":{"to_alias":"amber","content":"word-%d-"}}}`+"\n", i, i)
	}
	l.WriteProject("calls", calls)
	l.Run("sh", "-c", "C2C_MCP_SESSION_ID=birch "+c2c()+" mcp <calls")
	close(sent)
	last := model.WaitText("word-139-")
	for i := 100; i < 140; i++ {
		once(t, last, fmt.Sprintf("word-%d-", i))
	}
	if n := len(model.Turns()); n > 2+4 {
		t.Errorf("%d requests for a burst", n-2)
	}
}

func TestALongMessageReachesQwenInParts(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	body := sized(70_000, "x")
	l.Write("letter", body)
	poll := qwenTool("poll_inbox", map[string]any{})
	model.Script(poll, poll, poll, poll, lab.Say("Woken.")) // at the fifth it would suspect a loop
	l.Run("sh", "-c", "C2C_MCP_SESSION_ID=birch "+c2c()+" send amber --id id-long -F "+l.Home+"/letter")
	p.WaitScreen(0, "Woken.")
	wantRead(t, l, "id-long", "read by")
	turns, got := model.Turns(), 0
	for _, item := range turns[len(turns)-1].Items {
		if item.Role == "tool" {
			got += strings.Count(item.Text, "x")
		}
	}
	// The answers have a word with an x of their own.
	if want := strings.Count(body, "x"); got < want || len(turns[len(turns)-1].Find("probe-end")) != 1 {
		t.Errorf("of %d characters of it %d arrived", want, got)
	}
}

func TestUninstallRestoresQwen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.SeedQwen(nil)
	uninstallRestores(t, l, lab.Qwen)
}

// It answers one prompt and ends: what waits comes with the prompt, what is sent meanwhile with the
// next tool.
func TestQwenPromptTakesItsMailAndEnds(t *testing.T) {
	t.Parallel()
	l, model := qwenMail(t, nil)
	model.Script(qwenTool("me", map[string]any{"alias": "amber"}),
		qwenShell(sendAs("birch", "amber", "meanwhile")), qwenShell("true"), lab.Say("Finished."))
	l.QwenPrompt(model, "prompt-one").Wait()
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	wantRead(t, l, "id-meanwhile", "read by hook")
	wantMailboxes(t, l, lab.Qwen, 1)
}
