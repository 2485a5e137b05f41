package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

var ball = regexp.MustCompile(`ball-\d+-of-(\w+)`)

// player is a model that answers each message with another one, for ever.
func player(c lab.Client, alias, peer string) func(*lab.Request) (lab.Reply, bool) {
	return func(r *lab.Request) (lab.Reply, bool) {
		if !called(r, "me") {
			return register(c, alias), true
		}
		had, sent := map[string]bool{}, 0
		for _, item := range r.Items {
			switch {
			case item.Role == "assistant" && strings.HasSuffix(item.Name, "send"):
				sent++
			case item.Role != "assistant":
				for _, m := range ball.FindAllStringSubmatch(item.Text, -1) {
					if m[1] == peer {
						had[m[0]] = true
					}
				}
			}
		}
		if len(r.Find("serve the ball")) > 0 {
			had["the first"] = true
		}
		if len(had) <= sent {
			return lab.Say(fmt.Sprintf("Said %d.", sent)), true
		}
		return lab.CallMCP(c, "c2c", "send", map[string]any{"to_alias": peer, "content": fmt.Sprintf("ball-%d-of-%s", sent+1, alias)}), true
	}
}

// The models of two clients always answer each other. c2c stops them, tells the people at both, and
// lets them go on at a person's word.
func TestAStormOfTwoClientsIsStoppedUntilAPersonLetsItGoOn(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.Setenv("C2C_STORM_HOPS", "3")
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "install", "codex")
	l.TrustCodexHooks()
	claude.Answer(player(lab.Claude, "amber", "cody"))
	codex.Answer(player(lab.Codex, "cody", "amber"))
	one, two := l.ClaudeTUI(claude), l.CodexTUI()
	two.Submit("take your name")
	two.WaitShown("Said 0.")
	codexIdle(l, 1)
	one.Submit("take your name and serve the ball")

	const held = `cat ~/.c2c/repos/*/broker/person-*.inbox.json`
	l.WaitUntil("notice to the person", func() bool {
		text, err := l.Try("sh", "-c", held)
		return err == nil && strings.Contains(text, "c2c resume")
	})
	if text := l.Run("sh", "-c", held); strings.Count(text, "too often") != 1 {
		t.Errorf("the person was told %s", text)
	}
	if n := balls(l); n > 12 { // whichever client the turn comes to: what it was handed last may not be archived yet
		t.Errorf("%d were sent before they were stopped", n)
	}
	if out, err := l.Try("sh", "-c", "C2C_MCP_SESSION_ID=$("+c2c()+" whoami --session-id amber --json | sed -n 's/.*\"session_id\": \"\\(.*\\)\".*/\\1/p') "+c2c()+" resume amber cody"); err == nil {
		t.Errorf("an agent's shell lets agents go on: %s", out)
	}

	sent := balls(l)
	l.Terminal(l.Env("USER=ada"), c2c(), "resume", "amber", "cody").Wait()
	l.WaitUntil("a further message", func() bool { return balls(l) > sent })
	one.Submit("what did c2c say?") // what was not shown yet is shown with the next turn of its person
	claude.WaitText("answered each other too often")
	two.Submit("what did c2c say?")
	codex.WaitText("You and amber have answered each other too often")
}

// balls counts what the log says that the two have sent each other.
func balls(l *lab.Lab) int {
	return strings.Count(l.Run("sh", "-c", "cat ~/.c2c/repos/*/broker/broker.log"), `"to_alias":"amber"`) +
		strings.Count(l.Run("sh", "-c", "cat ~/.c2c/repos/*/broker/broker.log"), `"to_alias":"cody"`)
}

// Of a turn that mail begins, Claude Code's hooks tell c2c of a tool call that is none of c2c's,
// and of no other.
func TestAClaudeThatOnlyAnswersHasNotWorked(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	turn := func(word string, calls ...lab.Reply) (work string) {
		t.Helper()
		model.Script(append(calls, lab.Say("Said "+word))...)
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		model.WaitText("word-" + word)
		p.WaitScreen(0, "Said "+word)
		claudeIdle(l, model)
		return l.Run("sh", "-c", "readlink ~/.c2c/repos/*/broker/*.work")
	}
	began := turn("begin", bash("true"))
	if !strings.HasSuffix(strings.TrimSpace(began), " t") {
		t.Errorf("the client tells of its tools: %s", began)
	}
	answered := turn("answer", lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"to_alias": "birch", "content": "thanks"}))
	if answered != began {
		t.Errorf("an answer counts as work: %s, before %s", answered, began)
	}
	if worked := turn("work", bash("ls")); worked == answered {
		t.Errorf("a tool call is no work: %s", worked)
	}
	prompted := turn("nothing")
	model.Script(lab.Say("Hello."))
	p.Submit("go on yourself")
	p.WaitScreen(0, "Hello.")
	if after := l.Run("sh", "-c", "readlink ~/.c2c/repos/*/broker/*.work"); after == prompted {
		t.Errorf("a person's prompt is no work: %s", after)
	}
}
