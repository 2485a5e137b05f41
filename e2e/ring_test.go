package e2e

import (
	"encoding/json"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/client"
	"c2c/e2e/lab"
)

// A link is one client of the ring.
type link struct {
	client lab.Client
	seed   func(*lab.Lab, *lab.Model)
	start  func(*lab.Lab, *lab.Model) *lab.Proc
	asked  bool // it gets its mail with a prompt
}

// ring lists every client that c2c installs. The first one starts and ends it.
var ring = []link{
	{lab.Claude, func(l *lab.Lab, _ *lab.Model) { l.SeedClaude(nil) }, func(l *lab.Lab, m *lab.Model) *lab.Proc { return l.ClaudeTUI(m) }, false},
	{lab.Kimi, func(l *lab.Lab, m *lab.Model) { l.SeedKimi(m, "") }, func(l *lab.Lab, _ *lab.Model) *lab.Proc { return l.KimiTUI() }, true},
	{lab.Codex, func(l *lab.Lab, m *lab.Model) { l.SeedCodex(m, "") }, func(l *lab.Lab, _ *lab.Model) *lab.Proc { return l.CodexTUI() }, false},
	{lab.Qwen, func(l *lab.Lab, _ *lab.Model) { l.SeedQwen(nil) }, func(l *lab.Lab, m *lab.Model) *lab.Proc { return l.QwenTUI(m) }, false},
	{lab.OpenCode, func(l *lab.Lab, m *lab.Model) { l.SeedOpenCode(m, nil) }, func(l *lab.Lab, _ *lab.Model) *lab.Proc { return l.OpenCodeTUI() }, false},
	{lab.Gemini, func(l *lab.Lab, _ *lab.Model) { l.SeedGemini(nil) }, func(l *lab.Lab, m *lab.Model) *lab.Proc { return l.GeminiTUI(m) }, true},
	{lab.Copilot, func(l *lab.Lab, _ *lab.Model) { l.SeedCopilot(nil) }, func(l *lab.Lab, m *lab.Model) *lab.Proc { return l.CopilotTUI(m) }, false},
}

// ringText has what clients and terminals may take for their own.
const ringText = "Pass it on: \"quoted\", 'single', <b>bold</b> & back\\slash, 100 %s, $HOME, `tick`.\n\n  Grüße, 你好 🦉\n/quit"

// A message goes round all clients: each model reads it in the words of its client and sends it on
// with its client's own send. Never more than three of them run at once.
func TestAMessageGoesRoundAllClients(t *testing.T) {
	t.Parallel()
	for _, p := range client.All() {
		if p.Package != "" && !slices.ContainsFunc(ring, func(l link) bool { return string(l.client) == p.Name }) {
			t.Errorf("%s is not in the ring", p.Name)
		}
	}
	l := newLab(t)
	models := make([]*lab.Model, len(ring))
	ready := make([]chan struct{}, len(ring)) // closed when the client after this one is there
	for i, is := range ring {
		models[i], ready[i] = lab.NewModel(t), make(chan struct{})
		is.seed(l, models[i])
		l.Run(c2c(), "install", string(is.client))
	}
	l.TrustCodexHooks()
	for i, is := range ring {
		next := ring[(i+1)%len(ring)].client
		models[i].Answer(passOn(is.client, "at-"+string(next), i == 0, ready[i]))
	}
	procs := make([]*lab.Proc, len(ring))
	for i, is := range ring {
		procs[i] = is.start(l, models[i])
		procs[i].Submit("take your name")
		procs[i].WaitShown("Registered.")
		if i == 0 {
			procs[i].Submit("start the ring")
			continue
		}
		close(ready[i-1])
		receives(t, l, is, models[i], procs[i])
		if i > 1 {
			procs[i-1].WaitShown("Passed on.")
			procs[i-1].Kill()
		}
	}
	close(ready[len(ring)-1])
	receives(t, l, ring[0], models[0], procs[0])
	procs[0].WaitShown("The ring is closed.")
	wantThread(t, l)
}

// receives returns when the client's model has the message.
func receives(t *testing.T, l *lab.Lab, is link, model *lab.Model, p *lab.Proc) {
	if is.asked {
		eventually(t, func() bool {
			_, err := l.Try(c2c(), "poll-inbox", "--check", "--session-id", "at-"+string(is.client))
			return err == nil
		})
		p.Submit("anything new")
	}
	model.WaitText("Pass it on")
}

var letter = regexp.MustCompile(`(?s)<c2c event="message"[^>]* id="([^"]+)"[^>]*>[ \n](.*?)\n</c2c>`)

// read takes the message apart that the model sees, as models do: where a client makes entities of
// brackets, they are the characters that they stand for.
func read(r *lab.Request) (id, body string, found bool) {
	for _, item := range r.Items {
		text := item.Text
		if !letter.MatchString(text) {
			text = html.UnescapeString(text)
		}
		if m := letter.FindStringSubmatch(text); m != nil {
			return m[1], m[2], true
		}
	}
	return "", "", false
}

// called says whether the model has called a tool of c2c.
func called(r *lab.Request, tool string) bool {
	return slices.ContainsFunc(r.Items, func(item lab.Item) bool { return item.Role == "assistant" && strings.HasSuffix(item.Name, tool) })
}

// passOn is a model that takes a name, and sends what it reads on to the next one, once that is
// there.
func passOn(c lab.Client, next string, first bool, ready <-chan struct{}) func(*lab.Request) (lab.Reply, bool) {
	send := func(content, id string) (lab.Reply, bool) {
		return lab.CallMCP(c, "c2c", "send", map[string]any{"to_alias": next, "content": content, "in_reply_to": id}).After(ready), true
	}
	return func(r *lab.Request) (lab.Reply, bool) {
		id, body, arrived := read(r)
		sent := called(r, "send")
		switch {
		case !called(r, "me"):
			return register(c, "at-"+string(c)), true
		case first && arrived:
			return lab.Say("The ring is closed."), true
		case first && !sent && len(r.Find("start the ring")) > 0:
			return send(ringText, "")
		case !first && !sent && arrived:
			return send(body, id)
		case sent:
			return lab.Say("Passed on."), true
		}
		return lab.Say("Registered."), true
	}
}

// wantThread follows the thread backwards, through the archives of all sessions.
func wantThread(t *testing.T, l *lab.Lab) {
	t.Helper()
	type message struct {
		From string `json:"from_alias"`
		To   string `json:"to_alias"`
		ID   string `json:"message_id"`
		In   string `json:"in_reply_to"`
		Body string `json:"content"`
	}
	var all []message
	eventually(t, func() bool { // the last receipt
		all = nil
		paths, _ := filepath.Glob(l.Home + "/.c2c/repos/*/broker/archive/*.jsonl")
		for _, path := range paths {
			rel, _ := filepath.Rel(l.Home, path)
			for _, line := range lines(l.Read(rel)) {
				var m message
				if json.Unmarshal([]byte(line), &m) == nil {
					all = append(all, m)
				}
			}
		}
		return len(all) >= len(ring)
	})
	if len(all) != len(ring) {
		t.Fatalf("%d messages were read, want %d: %+v", len(all), len(ring), all)
	}
	before := ""
	for i, is := range ring {
		from, to := "at-"+string(is.client), "at-"+string(ring[(i+1)%len(ring)].client)
		at := slices.IndexFunc(all, func(m message) bool { return m.From == from })
		if at < 0 || all[at].To != to || all[at].In != before || all[at].Body != ringText {
			t.Fatalf("from %s to %s in reply to %q there is none in %+v", from, to, before, all)
		}
		before = all[at].ID
		wantRead(t, l, before, "read by")
	}
}
