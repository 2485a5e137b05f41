package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"c2c/e2e/lab"
	"c2c/e2e/machines"
	"c2c/sessions"
)

// onMachine makes a lab on a machine of its own, and its client's model.
func onMachine(t *testing.T, n *machines.Net, name string) (*lab.Lab, *machines.Machine, *lab.Model) {
	t.Helper()
	l := newLab(t)
	m := n.Bare(name, l.Home, l.Project)
	m.Clone("https://example.org/x/site")
	l.Inside(m.Inside()...)
	l.Setenv("PATH", m.Path())
	return l, m, lab.NewModelOn(t, m.Listen())
}

// Claude Code and Codex are idle, each on its machine. Claude's model asks, Codex is woken and
// answers; first through ssh, then through a hub.
func TestClaudeAndCodexOnTwoMachinesAskEachOther(t *testing.T) {
	t.Parallel()
	n := machines.New(t, t.TempDir(), os.Getenv("C2C_E2E_BIN"))
	a, laptop, claude := onMachine(t, n, "laptop")
	b, devbox, codex := onMachine(t, n, "devbox")
	a.SeedClaude(nil)
	a.Run(c2c(), "install", "claude")
	b.SeedCodex(codex, "")
	b.Run(c2c(), "install", "codex")
	b.TrustCodexHooks()
	codex.Script(register(lab.Codex, "cody-of-devbox"), lab.Say("Registered."))
	q := b.CodexTUI()
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Registered.")
	turns := 1
	codexIdle(b, turns)
	p := claudeAt(t, a, claude, "--permission-mode", "default")
	for _, l := range []*lab.Lab{a, b} {
		l.Run(c2c(), "register", "oak", "--session-id", "oak")
	}
	n.Pair(laptop, devbox)
	capture := n.Capture(devbox)

	// woken sends to Codex, and gives the times from then to the request of its model.
	woken := func(from *lab.Lab, to, way string) (all []time.Duration) {
		quiet := time.NewTicker(time.Second) // trials of their own, not a burst
		defer quiet.Stop()
		for _, trial := range []string{"one", "two", "three"} {
			<-quiet.C
			word := way + "-" + trial
			codex.Script(lab.Say("Had " + word + "."))
			began := time.Now()
			from.Run("sh", "-c", sendAs("oak", to, word))
			all = append(all, codex.WaitText("word-"+word).Time.Sub(began).Round(time.Millisecond))
			turns++
			codexIdle(b, turns)
		}
		return all
	}
	// asked has Claude's model ask Codex's.
	asked := func(way string) {
		t.Helper()
		question, answer := "question-by-"+way, "answer-by-"+way
		codex.Answer(replies(lab.Codex, question, answer, nil))
		codex.Script(lab.Say("Replied by " + way + "."))
		claude.Script(asks(lab.Claude, "cody-of-devbox@devbox", question, 600), lab.Say("Thanks by "+way+"."))
		p.Submit("please ask by " + way)
		if item := once(t, claude.WaitText(answer), answer); item.Role != "tool" {
			t.Errorf("the answer is shown as %+v", item)
		}
		p.WaitShown("Thanks by " + way + ".")
		q.WaitShown("Replied by " + way + ".")
		turns++
		codexIdle(b, turns)
		claudeIdle(a, claude)
		id := sentAs(t, a, "amber", question)
		a.WaitUntil("news that "+question+" was read", func() bool { return strings.Contains(status(a, id), "read") })
		if got := status(a, id); !strings.Contains(got, "stored at devbox") || !strings.Contains(got, "read") {
			t.Errorf("status of what was asked by %s: %q", way, got)
		}
	}

	local := woken(b, "cody-of-devbox", "local")
	byssh := woken(a, "cody-of-devbox@devbox", "ssh")
	asked("ssh")
	hub := n.Hub("laptop", "devbox")
	for _, m := range []*machines.Machine{laptop, devbox} {
		hub.Join(m, m.Name)
	}
	laptop.Linked("devbox", true)
	devbox.Linked("laptop", true)
	byhub := woken(a, "cody-of-devbox@devbox", "hub")
	asked("hub")
	t.Logf("from c2c send to the request of Codex's model: %v on one machine, %v through ssh, %v through a hub", local, byssh, byhub)
	if row := listed(b, "cody-of-devbox"); row.Now.Does != sessions.Idle {
		t.Errorf("Codex is %+v", row)
	}
	for _, way := range []string{"ssh", "hub"} {
		onlyOnce(t, claude.Turns(), "answer-by-"+way, "tool")
		onlyOnce(t, codex.Turns(), "word-"+way+"-two", "")
		// Random bytes have no word of that length by chance.
		for _, word := range []string{"question-by-" + way, "answer-by-" + way, "word-" + way, "cody-of-devbox"} {
			if all := capture.Bytes(); bytes.Contains(all, []byte(word)) {
				i := bytes.Index(all, []byte(word))
				t.Errorf("who listens at the cable reads %q: %q", word, all[max(0, i-200):min(len(all), i+200)])
			}
		}
	}
	if len(capture.Bytes()) == 0 {
		t.Error("nothing was seen at the cable")
	}
}

// Claude Code on one machine and Codex on another are in a room: 50 posts cost neither a request, a
// mention costs one, and the answer comes back into the room, through ssh.
func TestClaudeAndCodexShareARoomOnTwoMachines(t *testing.T) {
	t.Parallel()
	n := machines.New(t, t.TempDir(), os.Getenv("C2C_E2E_BIN"))
	a, laptop, claude := onMachine(t, n, "laptop")
	b, devbox, codex := onMachine(t, n, "devbox")
	a.SeedClaude(nil)
	a.Run(c2c(), "install", "claude")
	b.SeedCodex(codex, "")
	b.Run(c2c(), "install", "codex")
	b.TrustCodexHooks()
	codex.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	q := b.CodexTUI()
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Registered.")
	codexIdle(b, 1)
	p := claudeAt(t, a, claude, "--permission-mode", "default")
	n.Pair(laptop, devbox)
	b.Run(c2c(), "register", "dana", "--session-id", "dana")
	b.Run(c2c(), "rooms", "create", "review", "--from", "dana")
	b.Run(c2c(), "rooms", "join", "review", "--from", "cody")
	if out := a.Run(c2c(), "rooms", "join", "review@devbox", "--from", "amber"); !strings.Contains(out, "asked devbox to let amber into review@devbox") {
		t.Error(out)
	}
	a.WaitUntil("amber is in the room", func() bool {
		out, err := a.Try(c2c(), "rooms", "members", "review@devbox")
		return err == nil && strings.Contains(out, "amber  quiet") && strings.Contains(out, "cody@devbox")
	})

	asked, had := len(claude.Turns()), len(codex.Turns())
	b.Run("sh", "-c", "for i in $(seq 50); do "+c2c()+" send '#review' ambient-$i --from dana >/dev/null || exit 1; done")
	a.WaitUntil("the posts are in the copy", func() bool {
		return strings.Contains(a.Run(c2c(), "rooms", "history", "review@devbox"), "ambient-50")
	})
	claude.Answer(replies(lab.Claude, "look, please", "found-it", nil))
	claude.Script(lab.Say("Answered."))
	if out := b.Run(c2c(), "send", "#review", "@amber look, please", "--from", "dana"); !strings.HasPrefix(out, "stored for 2, wakes 0, goes to 1 (amber@laptop)") {
		t.Error(out)
	}
	p.WaitShown("Answered.")
	claudeIdle(a, claude)
	b.WaitUntil("the answer is in the room", func() bool {
		return strings.Contains(b.Run(c2c(), "rooms", "history", "review"), `from="amber@laptop"`)
	})
	if out := b.Run(c2c(), "poll-inbox", "--from", "dana"); !strings.Contains(out, "found-it") || !strings.Contains(out, `from="amber@laptop"`) {
		t.Errorf("dana has %s", out)
	}
	if got := len(claude.Turns()) - asked; got != 2 { // the wake, and behind the call of reply
		t.Errorf("Claude had %d requests for 50 posts and a mention", got)
	}
	if got := len(codex.Turns()) - had; got != 0 {
		t.Errorf("Codex, whom nobody named, had %d requests", got)
	}
	codex.Script(lab.Say("Thanks."))
	if out := a.Run(c2c(), "send", "#review@devbox", "@cody and you?", "--from", "amber"); !strings.HasPrefix(out, "on its way to devbox, not in the room yet, goes to 1 (cody@devbox)") {
		t.Error(out)
	}
	codex.WaitText("and you?")
	q.WaitShown("Thanks.")
}

// sentAs gives the id of what a session has sent.
func sentAs(t *testing.T, l *lab.Lab, alias, content string) string {
	t.Helper()
	var sent []struct {
		ID      string `json:"message_id"`
		Content string
	}
	if err := json.Unmarshal([]byte(l.Run(c2c(), "outbox", "--from", alias, "--json")), &sent); err != nil {
		t.Fatal(err)
	}
	for _, m := range sent {
		if m.Content == content {
			return m.ID
		}
	}
	t.Fatalf("%s has not sent %q: %+v", alias, content, sent)
	return ""
}
