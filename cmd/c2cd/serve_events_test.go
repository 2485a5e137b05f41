package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

var eventKills = flag.Int("event-kills", 4, "how often the daemon is killed while answers go out on /events")

// reader is curl -N on /events.
type reader struct {
	h     *host
	cmd   *exec.Cmd
	lines *bufio.Scanner
	out   io.Closer
	id    string // of the last event
}

// reads starts one; after is the id of the last event that it had.
func (h *host) reads(key, query, after string) *reader {
	h.t.Helper()
	args := []string{"-sSN", "-H", "Authorization: Bearer " + key}
	if after != "" {
		args = append(args, "-H", "Last-Event-ID: "+after)
	}
	r := &reader{h: h, cmd: exec.Command("curl", append(args, h.url("/events"+query))...), id: after}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	r.lines, r.out = bufio.NewScanner(out), out
	r.lines.Buffer(nil, 4<<20)
	h.t.Cleanup(r.end)
	return r
}

func (r *reader) end() {
	r.cmd.Process.Kill()
	r.out.Close()
	r.cmd.Wait()
}

// reply waits for the next answer. It is not ok when the stream has ended.
func (r *reader) reply() (id, text string, ok bool) {
	name := ""
	for r.lines.Scan() {
		field, value, _ := strings.Cut(r.lines.Text(), ": ")
		switch field {
		case "id":
			r.id = value
		case "event":
			name = value
		case "":
			name = ""
		case "data":
			var data struct {
				ID   string `json:"message_id"`
				Text string `json:"text"`
			}
			if name != "reply" {
				continue
			}
			if err := json.Unmarshal([]byte(value), &data); err != nil {
				r.h.t.Fatalf("%q: %v", value, err)
			}
			return data.ID, data.Text, true
		}
	}
	return "", "", false
}

// The Channels reference, "Full example": one terminal reads /events, another one posts.
func TestAnAnswerIsReadWithCurl(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	key, _ := h.allows("ci", "--to", "birch")
	text, events := h.reads(key, "?format=text", ""), h.reads(key, "", "")
	for _, r := range []*reader{text, events} {
		if !r.lines.Scan() || r.lines.Text() != ": connected" {
			t.Fatalf("the first line is %q", r.lines.Text())
		}
	}
	if out := h.curl("-H", "Authorization: Bearer "+key, "-d", "list the files", h.url("/")); out != "ok" {
		t.Fatal(out)
	}
	h.run("poll-inbox", "--session-id", "s-birch")
	h.run("reply", "two\nfiles", "--session-id", "s-birch")
	for _, want := range []string{"", "data: Reply to ci: two", "data:     files", ""} {
		if !text.lines.Scan() || text.lines.Text() != want {
			t.Errorf("%q, want %q", text.lines.Text(), want)
		}
	}
	if _, said, ok := events.reply(); !ok || said != "two\nfiles" {
		t.Errorf("%q", said)
	}
	h.typed("senders", "deny", "ci")
	for events.lines.Scan() { // denied: the stream ends
	}
	h.wantNoKey(key)
}

// Whatever is killed when, a reader that comes back misses no answer, and gets one twice only with
// the same id.
func TestNoAnswerIsLostWhenTheDaemonIsKilled(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	key, _ := h.allows("ci", "--to", "birch")
	if out := h.curl("-H", "Authorization: Bearer "+key, "-d", "hello", h.url("/")); out != "ok" {
		t.Fatal(out)
	}
	b, err := broker.Open(broker.Config{Root: h.root()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const each = 12
	all := each * (*eventKills + 1)
	sent, more := make(chan bool), make(chan bool, *eventKills+1)
	go func() {
		defer close(sent)
		for i := range all {
			if i%each == 0 {
				<-more
			}
			m := mail.Message{To: "external-ci", ID: fmt.Sprint("m-", i), Content: fmt.Sprint("text ", i)}
			if _, err := b.Send(t.Context(), sessions.Session{ID: "s-birch", Alias: "birch"}, m); err != nil {
				t.Error(err)
			}
		}
	}()
	seen, last, twice := map[string]string{}, "", 0
	for len(seen) < all {
		select {
		case more <- true: // they come while the daemon is killed
		default:
		}
		r := h.reads(key, "", last)
		for until := 1 + rand.IntN(each); until > 0 || *eventKills == 0; until-- {
			id, text, ok := r.reply()
			if !ok {
				break
			}
			if before, again := seen[id]; again {
				if twice++; before != text {
					t.Errorf("%s is %q and %q", id, before, text)
				}
			}
			if seen[id] = text; len(seen) == all {
				break
			}
		}
		last = r.id
		if r.end(); len(seen) < all && *eventKills > 0 {
			*eventKills--
			h.kill(h.status().PID)
			h.run("serve", "start")
		}
	}
	<-sent
	for i := range all {
		if seen[fmt.Sprint("m-", i)] != fmt.Sprint("text ", i) {
			t.Errorf("m-%d is %q", i, seen[fmt.Sprint("m-", i)])
		}
	}
	t.Logf("%d answers, %d of them twice", all, twice)
}
