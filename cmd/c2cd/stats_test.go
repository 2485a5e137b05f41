package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/sessions"
)

func (h *host) owed(session string) (list []broker.Obligation) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.run("obligations", "--all", "--session-id", session, "--json")), &list); err != nil {
		h.t.Fatal(err)
	}
	return list
}

// The daemon rings for a question, reminds of it when the answer is due, and tells what became of
// it to who has the token.
func TestWhatIsOwedOverHTTP(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "--session-id", "dana", "dana")
	c := h.dialMCP("somebody")
	c.call("register", `{"alias":"coral"}`)
	messages, _ := h.wakes(c, "coral")
	h.run("send", "--session-id", "dana", "coral", "which port", "--kind", "question", "--answer-by", "1s")
	c.bell(messages)
	h.until("the bell is counted", func() bool { o := h.owed("dana"); return len(o) == 1 && o[0].Wakes.Count > 0 })
	if o := h.owed("dana")[0]; o.Surface != sessions.SurfaceFull || o.Wakes.Path != "sse" || o.Wakes.Result != "rang" || o.Wakes.RangAt.IsZero() || o.MaxWakes != 1 {
		t.Errorf("obligation %+v", o)
	}
	if got := c.call("poll_inbox", `{}`); !strings.Contains(got, `"action_required":true,"reply_required":true`) {
		t.Errorf("polled %s", got)
	}
	for { // of the messages there may have been one more
		c.bell(messages)
		got := c.call("poll_inbox", `{}`)
		if strings.Contains(got, "dana waits for your answer to its question") {
			break
		}
		if got != "[]" {
			t.Fatalf("polled %s", got)
		}
	}
	c.call("send", `{"to_alias":"dana","content":"8080","in_reply_to":"`+h.owed("dana")[0].ID+`"}`)
	if o := h.owed("dana")[0]; o.State != owed.Answered || o.Reminders == 0 || o.ObservedAt.IsZero() {
		t.Errorf("obligation %+v", o)
	}
	var st broker.Stats
	if err := json.Unmarshal([]byte(h.run("stats", "--json")), &st); err != nil || st.Over[owed.Answered] != 1 || st.Total.Pushed != 1 {
		t.Errorf("stats %+v, %v", st, err)
	}
	if text := h.run("stats"); !strings.Contains(text, "over: 1 answered") || !strings.Contains(text, "acknowledged") {
		t.Errorf("stats say %s", text)
	}
	code, body := h.get("/metrics", h.token())
	for _, want := range []string{`c2c_http_streams 1`, `c2c_obligations{root="` + h.root() + `",state="answered"} 1`, `c2c_obligations_pushed{root="` + h.root() + `",surface_support="full"} 1`} {
		if code != http.StatusOK || !strings.Contains(body, want+"\n") {
			t.Errorf("%d: no %s in %s", code, want, body)
		}
	}
	if code, body := h.get("/metrics", ""); code != http.StatusUnauthorized || strings.Contains(body, "c2c_") {
		t.Errorf("without a token: %d, %s", code, body)
	}
}

func TestStatsOfNoRoot(t *testing.T) {
	h := newHost(t)
	var st broker.Stats
	out, err := h.command("stats", "--json").Output()
	if err = errors.Join(err, json.Unmarshal(out, &st)); err != nil || st.Total.Sent != 0 || !strings.Contains(string(out), `"surfaces": []`) {
		t.Errorf("stats %s", out)
	}
}
