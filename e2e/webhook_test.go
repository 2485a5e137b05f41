package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// outsider is a program outside, which has a token and writes with curl.
type outsider struct {
	*lab.Lab
	t        *testing.T
	url, key string
}

// outsideOf starts the daemon, and has a person let somebody write to amber.
func outsideOf(t *testing.T, l *lab.Lab, options ...string) outsider {
	t.Helper()
	l.Run(c2c(), "serve", "start", "--port", "0")
	t.Cleanup(func() { l.Try(c2c(), "serve", "stop") })
	var st struct{ URL string }
	if err := json.Unmarshal([]byte(l.Run(c2c(), "serve", "status", "--json")), &st); err != nil || st.URL == "" {
		t.Fatalf("serve status: %+v %v", st, err)
	}
	args := append([]string{c2c(), "senders", "allow", "ci", "--to", "amber"}, options...)
	p := l.Terminal(l.Env("USER=ada"), "sh", "-c", strings.Join(args, " ")+"; exit 0")
	p.Wait()
	found := regexp.MustCompile(`token (\S{43})\s`).FindStringSubmatch(p.Screen())
	if found == nil {
		t.Fatalf("no token on %s", p.Screen())
	}
	return outsider{l, t, strings.TrimSuffix(st.URL, "/mcp"), found[1]}
}

func (o outsider) curl(path, text string) string {
	o.t.Helper()
	return o.Run("curl", "-sS", "--max-time", "60", "-H", "Authorization: Bearer "+o.key, "-d", text, o.url+path)
}

// The Channels reference, "Test it": a POST begins a turn of an idle session. Here no channel is
// needed, and the answer waits for who has asked.
func TestCurlBeginsATurnOfAnIdleClaude(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	ci := outsideOf(t, l)
	model.Script(lab.CallMCP(lab.Claude, "c2c", "send", map[string]any{"in_reply_to": "build-7", "content": "word-fixed"}), lab.Say("Woken."))
	if out := ci.curl("/in/amber", `{"text":"word-build failed on main","chat_id":"42","message_id":"build-7"}`); !strings.Contains(out, `"queued":true`) {
		t.Fatalf("curl: %s", out)
	}
	item := once(t, model.WaitText("word-build failed"), "word-build failed")
	for _, want := range []string{`from="external-ci" by="outside" chat_id="42"`, `path="/in/amber" method="POST"`} {
		if !strings.Contains(item.Text, want) {
			t.Errorf("%s is not in %s", want, item.Text)
		}
	}
	p.WaitScreen(0, "Woken.")
	var sent []struct {
		To   string `json:"to_alias"`
		Text string `json:"content"`
	}
	if err := json.Unmarshal([]byte(l.Run(c2c(), "outbox", "--session-id", "amber", "--json")), &sent); err != nil || len(sent) == 0 ||
		sent[0].To != "external-ci" || sent[0].Text != "word-fixed" {
		t.Errorf("the answer: %+v %v", sent, err)
	}
	onlyOnce(t, model.Turns(), "word-build failed", "user")
}

// As the reference shows it: the tag of the channel says where the message comes from.
func TestCurlBeginsATurnThroughAChannel(t *testing.T) {
	t.Parallel()
	l, model, p := channelAt(t, "content")
	ci := outsideOf(t, l)
	model.Script(lab.Say("Woken."))
	if out := ci.curl("/", "word-build failed on main"); out != "ok" {
		t.Fatalf("curl: %s", out)
	}
	item := once(t, model.WaitText("word-build failed"), "word-build failed")
	t.Logf("by channel: %+v", item)
	tag := regexp.MustCompile(`<channel source="[^"]*"[^>]*>`).FindString(item.Text)
	for _, want := range []string{`chat_id="ci"`, `path="/"`, `method="POST"`, `from="external-ci"`} {
		if !strings.Contains(tag, want) {
			t.Errorf("%s is not in %s", want, tag)
		}
	}
	p.WaitScreen(0, "Woken.")
}
