package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
	"c2c/wake"
)

// claudeLab has a Claude Code that c2c is installed in, and a birch who writes. env has lines
// NAME=value.
func claudeLab(t *testing.T, settings map[string]any, env ...string) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	for _, line := range env {
		name, value, _ := strings.Cut(line, "=")
		l.Setenv(name, value)
	}
	l.SeedClaude(settings)
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// wakeLab has an idle Claude Code amber and a birch who writes to it.
func wakeLab(t *testing.T, settings map[string]any, args ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := claudeLab(t, settings)
	return l, model, claudeAt(t, l, model, args...)
}

// rings counts what the log says of rings, but for what hooks announced in a turn that ran anyway.
func rings(l *lab.Lab, outcome string) int {
	n := 0
	for _, line := range lines(l.Run("sh", "-c", "cat ~/.c2c/repos/*/broker/broker.log")) {
		if strings.Contains(line, `"event":"ring"`) && !strings.Contains(line, `"method":"hook"`) && strings.Contains(line, `"outcome":"`+outcome+`"`) {
			n++
		}
	}
	return n
}

// wantRings waits for so many rings that were taken, and allows no more. A ring is logged after its
// receipt.
func wantRings(t *testing.T, l *lab.Lab, n int) {
	t.Helper()
	countsTo(t, n, "rings", func() int { return rings(l, "rang") })
}

// wantRingsBy does so for the rings by one method.
func wantRingsBy(t *testing.T, l *lab.Lab, method string, n int) {
	t.Helper()
	countsTo(t, n, "rings by "+method, func() int {
		return strings.Count(l.Run("sh", "-c", "cat ~/.c2c/repos/*/broker/broker.log"), `"method":"`+method+`","outcome":"rang"`)
	})
}

func countsTo(t *testing.T, n int, what string, count func() int) {
	t.Helper()
	eventually(t, func() bool { return count() >= n })
	if got := count(); got != n {
		t.Errorf("%d %s, want %d", got, what, n)
	}
}

func TestAWakePassesInEveryPermissionModeAndKeepsIt(t *testing.T) {
	for _, mode := range []string{"default", "acceptEdits", "plan", "bypassPermissions"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			l.Setenv("IS_SANDBOX", "1") // or root may not bypass
			settings := claudeHooks(map[string]string{"UserPromptSubmit": capture("$HOME/prompt"), "Stop": capture("$HOME/stop")})
			settings["skipDangerousModePermissionPrompt"] = true
			l.SeedClaude(settings)
			l.Run(c2c(), "install", "claude")
			l.Run(c2c(), "register", "birch", "--session-id", "birch")
			p := l.ClaudeTUI(model, "--permission-mode", mode)
			model.Script(lab.Say("Ready."))
			p.Submit("prompt-one")
			p.WaitScreen(0, "Ready.")
			claudeIdle(l, model)
			// In plan mode its model could not register by tool.
			l.Run("sh", "-c", c2c()+` register amber --session-id "$(sed -n '1s|.*/||p' ~/.c2c/pointers/*)"`)
			model.Script(lab.Say("Woken."))
			l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
			item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
			if item.Role != "user" || !strings.Contains(item.Text, "Another Claude session") {
				t.Errorf("shown as %+v", item)
			}
			p.WaitScreen(0, "Woken.")
			l.WaitFile("stop.jsonl", `"last_assistant_message":"Woken."`)
			for _, e := range append(events(t, l, "prompt"), events(t, l, "stop")...) {
				if e.Mode != mode {
					t.Errorf("%s %q is in mode %q", e.Event, e.Prompt, e.Mode)
				}
			}
		})
	}
}

// askFirst has the client ask before it runs a command, but not for our own tools.
var askFirst = map[string]any{"permissions": map[string]any{"allow": []string{"mcp__c2c"}}}

// answersNoDialog sends mail while a dialog is open, in which Enter would approve what it asks
// about. wait returns when the mail has had its effect, and state is its status then.
func answersNoDialog(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, wait func(), state string) {
	t.Helper()
	model.Script(bash("touch "+touched(l)), lab.Say("Refused."), lab.Say("And woken."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Do you want to proceed")
	if row := does(l, "amber", sessions.Waiting); row.Now.Known != sessions.ByRecord || row.Now.Since.IsZero() {
		t.Errorf("listed behind the dialog as %+v", row)
	}
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	wait()
	if got := status(l, "id-meanwhile"); !strings.Contains(got, state) || !strings.Contains(got, "amber waits for its person (") || !strings.Contains(got, "answer the dialog") {
		t.Errorf("status behind the dialog %q", got)
	}
	p.Send(lab.Esc) // the person says no
	model.WaitText("word-meanwhile")
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
	seesOnce(t, p, "word-meanwhile")
	if _, err := os.Stat(touched(l)); err == nil {
		t.Error("the dialog was approved")
	}
}

func TestAnOpenDialogIsAnsweredByNobodyButThePerson(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, askFirst, "--permission-mode", "default")
	answersNoDialog(t, l, model, p, func() {}, "queued")
	seesRecorded(t, l, p, lab.Claude, "dialog", "word-meanwhile")
}

func TestABurstIsAFewRingsAndAllIsReadInOrder(t *testing.T) {
	t.Parallel()
	l, model, _ := wakeLab(t, nil)
	sent := make(chan struct{})
	model.Script(lab.Say("Read.").After(sent)) // or a busy machine sends more slowly than it reads
	// One server sends them all: a process each takes a busy machine longer than a second.
	calls := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lab","version":"0"}}}` + "\n"
	for i := 100; i < 200; i++ {
		calls += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"send","arguments":{"to_alias":"amber","content":"word-%d-"}}}`+"\n", i, i)
	}
	l.WriteProject("calls", calls)
	l.Run("sh", "-c", "C2C_MCP_SESSION_ID=birch "+c2c()+" mcp <calls")
	close(sent)
	last := model.WaitText("word-199-")
	before := -1
	for i := 100; i < 200; i++ {
		word := fmt.Sprintf("word-%d-", i)
		item := once(t, last, word)
		if item.Message < before {
			t.Errorf("%s stands before its predecessor", word)
		}
		before = item.Message
	}
	eventually(t, func() bool { return rings(l, "rang") > 0 })
	if n := rings(l, "rang"); n < 1 || n > 3 {
		t.Errorf("%d rings for a burst", n)
	}
}

func TestABusySessionIsNotRung(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	done := make(chan struct{})
	model.Script(bash("true").After(done), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	claudeIs(l, "busy")
	for _, word := range []string{"one", "two", "three"} {
		if got := l.Run("sh", "-c", sendAs("birch", "amber", word)); !strings.Contains(got, "amber is in a turn (") {
			t.Errorf("receipt %q", got)
		}
	}
	if got := status(l, "id-one"); !strings.Contains(got, "stored at") || !strings.Contains(got, "amber is in a turn (") {
		t.Errorf("status %q", got)
	}
	close(done)
	r := model.WaitText("word-three")
	for _, word := range []string{"one", "two", "three"} {
		once(t, r, "word-"+word)
		wantRead(t, l, "id-"+word, "read by hook")
		seesOnce(t, p, "word-"+word)
	}
	p.WaitShown("Finished.")
	seesRecorded(t, l, p, lab.Claude, "turn", "word-one")
	if n := rings(l, "rang"); n != 0 {
		t.Errorf("%d rings", n)
	}
}

// Without its socket the server cannot ring, and does not keep the client's own watch from it.
func TestWithoutItsSocketClaudeIsWokenByItsOwnWatch(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil, "CLAUDE_CODE_HARBOR_KITE=0")
	p := claudeAt(t, l, model)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), `count="1" from="birch"`)
	p.WaitScreen(0, "Woken.")
	wantRingsBy(t, l, wake.ByFile, 1)
}

// channelAt starts Claude Code as somebody who tries channels: the feature is theirs, and they have
// said yes to the warning.
func channelAt(t *testing.T, mode string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_CHANNEL_DELIVERY", mode)
	l.SeedClaude(nil)
	l.AllowChannels()
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	p := l.ClaudeChannel(model, c2c())
	model.Script(register(lab.Claude, "amber"), lab.Say("Registered."))
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	claudeIdle(l, model)
	return l, model, p
}

func TestAChannelCarriesAndItsReceiptIsTheHook(t *testing.T) {
	t.Parallel()
	l, model, p := channelAt(t, "content")
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	t.Logf("by channel: %+v", item)
	p.WaitScreen(0, "Woken.")
	wantRead(t, l, "id-meanwhile", "read by channel")
}

func TestAChannelRingsAndTheHookHandsOver(t *testing.T) {
	t.Parallel()
	l, model, p := channelAt(t, "doorbell")
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "message_pending")
	p.WaitScreen(0, "Woken.")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

func TestDoNotDisturbRingsNobodyAndTheNextPromptBringsTheMail(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	l.Run(c2c(), "dnd", "--session-id", "amber", "on")
	l.Run("sh", "-c", sendAs("birch", "amber", "quiet"))
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"filtered"`)
	p.Submit("prompt-two")
	once(t, model.WaitText("word-quiet"), "prompt-two")
	if n := rings(l, "rang"); n != 0 {
		t.Errorf("%d rings", n)
	}
}
