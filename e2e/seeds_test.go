package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/wake"
)

// The verification list of the seed for channels (SPEC-044 §7), and the tests that hold it with the
// real clients; those without a file are here:
//
//	idle delivery             TestAChannelRingsAndTheHookHandsOver, TestAChannelCarriesAndItsReceiptIsTheHook
//	                          (wake_claude_test.go), TestIdleClaudeIsWoken, TestIdleCodexIsWoken (wake_test.go)
//	push coalescing           TestThreeMessagesBeforeADrainAreOneRing; in a burst:
//	                          TestABurstIsAFewRingsAndAllIsReadInOrder (wake_claude_test.go)
//	reconnect reconciliation  TestMailThatWaitedRingsWhenClaudeIsBack, TestMailThatWaitedRingsWhenCodexIsBack,
//	                          TestAServerThatIsBackRingsForWhatWaited; under a name: TestASessionIsStartedByName
//	                          (start_test.go)
//	fallback without channel  TestAChannelThatNobodyHearsGivesWayToTheSocket; without a socket too:
//	                          TestWithoutItsSocketClaudeIsWokenByItsOwnWatch (wake_claude_test.go); with the next
//	                          tool call: TestClaudeReceivesMailWithTheNextRequest (mail_test.go)
//	launcher integration      TestTheLauncherMakesAChannel
//
// And what the issue adds: a lost ring is rung again, TestARingThatFindsNoSocketIsMadeUpFor and
// TestALostRingIsRungAgainWhenTheSocketIsBack.

// silence keeps our hooks from handing anything over, from the next one on.
func silence(l *lab.Lab) { l.Write(".claude/hooks/c2c-inbox-check.sh", "#!/bin/sh\nexit 0\n") }

func TestThreeMessagesBeforeADrainAreOneRing(t *testing.T) {
	t.Parallel()
	l, model, p := channelAt(t, "doorbell")
	silence(l)
	drain := make(chan struct{})
	model.Script(lab.CallMCP(lab.Claude, "c2c", "poll_inbox", map[string]any{}).After(drain), lab.Say("All read."))
	l.Run("sh", "-c", sendAs("birch", "amber", "one"))
	model.WaitText("message_pending")
	claudeIs(l, "busy")
	l.Run("sh", "-c", "rm ~/.claude/sessions/*.json") // or the client's own word would hold the ring back already
	l.Run("sh", "-c", sendAs("birch", "amber", "two"))
	l.Run("sh", "-c", sendAs("birch", "amber", "three"))
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"coalesced"`)
	close(drain)
	r := model.WaitText("word-three")
	for _, word := range []string{"one", "two", "three"} {
		if item := once(t, r, "word-"+word); item.Role != "tool" {
			t.Errorf("shown as %+v", item)
		}
	}
	p.WaitScreen(0, "All read.")
	wantRingsBy(t, l, wake.ByChannel, 1)
	wantRings(t, l, 1)
}

func TestMailThatWaitedRingsWhenClaudeIsBack(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	id := model.Wait(0).ClaudeSession()
	p.Command("/exit")
	p.Wait()
	l.Run("sh", "-c", sendAs("birch", "amber", "away"))
	if got := status(l, "id-away"); !strings.Contains(got, "queued") {
		t.Errorf("status while it is away %q", got)
	}
	model.Script(lab.Say("Woken."))
	p = l.ClaudeTUI(model, "--resume", id)
	model.WaitText("word-away") // though nobody types anything
	p.WaitScreen(0, "Woken.")
	onlyOnce(t, model.Turns(), "word-away", "user")
	wantRead(t, l, "id-away", "read by socket")
	wantRings(t, l, 1)
}

func TestMailThatWaitedRingsWhenCodexIsBack(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "", "--no-daemon") // a daemon would keep the thread open without its terminal
	id := model.Wait(0).CodexThread()
	p.Command("/quit")
	p.Wait()
	l.Run("sh", "-c", sendAs("birch", "cody", "away"))
	if got := status(l, "id-away"); !strings.Contains(got, "queued") {
		t.Errorf("status while it is away %q", got)
	}
	model.Script(lab.Say("Woken."))
	l.CodexTUI("resume", id)
	model.WaitText("word-away") // though nobody types anything
	l.WaitFile(".c2c/repos/*/broker/sessions/*.json", `"outcome": "rang"`)
	onlyOnce(t, model.Turns(), "word-away", "tool")
	wantRings(t, l, 1)
}

// inMenu has the person open the client's list of servers and choose the first, which has that
// status.
func inMenu(p *lab.Proc, status string) {
	mark := p.Out.Mark()
	p.Command("/mcp")
	p.WaitScreen(mark, "Enter to view")
	p.Send(lab.Enter)
	p.WaitScreen(mark, "Disable in this project") // the last line
	p.WaitShown(status)
}

// blindLab is wakeLab with a client that does not wake itself.
func blindLab(t *testing.T) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := claudeLab(t, nil)
	blind(l)
	return l, model, claudeAt(t, l, model)
}

func TestAServerThatIsBackRingsForWhatWaited(t *testing.T) {
	t.Parallel()
	l, model, p := blindLab(t)
	end(t, serverOf(t, p.Pid()))
	l.Run("sh", "-c", sendAs("birch", "amber", "away"))
	model.Script(lab.Say("Woken."))
	inMenu(p, "✘ failed")
	p.Send(lab.Enter) // Reconnect
	model.WaitText("word-away")
	p.WaitScreen(0, "Woken.")
	claudeIdle(l, model)
	model.Script(lab.Say("And again."))
	l.Run("sh", "-c", sendAs("birch", "amber", "again"))
	model.WaitText("word-again")
	p.WaitScreen(0, "And again.")
	for _, word := range []string{"away", "again"} {
		onlyOnce(t, model.Turns(), "word-"+word, "user")
		wantRead(t, l, "id-"+word, "read by socket")
	}
	wantRings(t, l, 2)
}

// It asks for the channel and starts the client without it, which the client tells nobody.
func TestAChannelThatNobodyHearsGivesWayToTheSocket(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil, "C2C_MCP_CHANNEL_DELIVERY=doorbell")
	p := claudeAt(t, l, model)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "first"))
	model.WaitText("word-first") // after the gap behind the ring in vain
	p.WaitScreen(0, "Woken.")
	claudeIdle(l, model)
	model.Script(lab.Say("And again."))
	l.Run("sh", "-c", sendAs("birch", "amber", "second"))
	model.WaitText("word-second")
	p.WaitScreen(0, "And again.")
	for _, word := range []string{"first", "second"} {
		onlyOnce(t, model.Turns(), "word-"+word, "")
	}
	wantRingsBy(t, l, wake.BySocket, 2)
	wantRingsBy(t, l, wake.ByChannel, 1)
}

func TestTheLauncherMakesAChannel(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.AllowChannels()
	l.Run(c2c(), "install", "claude")
	env := append(l.ClaudeEnv(model), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=")
	p := l.Terminal(env, c2c(), "start", "--channel", "claude", "--", "--debug")
	p.WaitScreen(0, "local development")
	p.Send(lab.Enter)
	p.WaitScreen(0, "shift+tab to cycle", "? for shortcuts")
	l.WaitFile(".claude/debug/*.txt", "Channel notifications registered") // its list of servers does not tell
	inMenu(p, "✔ connected")
}

// environmentOf is what a process was started with.
func environmentOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for v := range strings.SplitSeq(string(data), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// withoutSocket takes a client's socket away until the caller puts it back.
func withoutSocket(t *testing.T, p *lab.Proc) (back func()) {
	t.Helper()
	socket := environmentOf(t, serverOf(t, p.Pid()))["CLAUDE_CODE_MESSAGING_SOCKET"]
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(socket, socket+".away")
	return func() { move(socket+".away", socket) }
}

// The server gives its right to ring away, and the client's own watch is there.
func TestARingThatFindsNoSocketIsMadeUpFor(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	withoutSocket(t, p)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Woken.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
	wantRingsBy(t, l, wake.ByFile, 1)
	wantRings(t, l, 1)
	if failed := rings(l, "failed"); failed != 1 {
		t.Errorf("%d rings failed", failed)
	}
}

func TestALostRingIsRungAgainWhenTheSocketIsBack(t *testing.T) {
	t.Parallel()
	l, model, p := blindLab(t)
	back := withoutSocket(t, p)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	l.WaitFile(".c2c/repos/*/broker/sessions/*.json", `"outcome": "failed"`)
	if got := l.Run(c2c(), "status", "id-meanwhile"); !strings.Contains(got, "queued") || !strings.Contains(got, "is gone") {
		t.Errorf("status %q", got)
	}
	back()
	l.Run(c2c(), "register", "coral", "--session-id", "coral") // its server looks again now, and not within a minute
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Woken.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRingsBy(t, l, wake.BySocket, 1)
	wantRings(t, l, 1)
}
