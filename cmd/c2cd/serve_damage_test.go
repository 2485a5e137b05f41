package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/serve/outside"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// project is a root that the daemon serves, with one session, and one sender outside who follows
// its events.
type servedProject struct {
	h      *host
	b      *broker.Broker
	alias  string
	key    string
	events *reader
}

func (h *host) makeProject(name string) *servedProject {
	h.t.Helper()
	b, err := broker.Open(broker.Config{Root: filepath.Join(h.home, name)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { b.Close() })
	p := &servedProject{h: h, b: b, alias: name}
	if _, err := b.Register(h.t.Context(), callers.Caller{Explicit: "s-" + name, Client: "gem"}, name); err != nil {
		h.t.Fatal(err)
	}
	dir, err := atomicfile.Open(h.file("http"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer dir.Close()
	p.key, err = outside.OpenSenders(dir, time.Now).Allow(h.t.Context(), outside.Sender{Name: "of-" + name, Root: b.Root(), To: []string{name}})
	if err != nil {
		h.t.Fatal(err)
	}
	if out := h.curl("-H", "Authorization: Bearer "+p.key, "-d", "hello", h.url("/")); out != "ok" {
		h.t.Fatal(out)
	}
	return p
}

// follow opens the stream, and says whether it was opened. The daemon has looked at the whole root
// by then.
func (p *servedProject) follow() bool {
	p.events = p.h.reads(p.key, "", "")
	for p.events.lines.Scan() {
		if p.events.lines.Text() == "event: hello" {
			return true
		}
	}
	return false
}

// answers says whether what the session answers comes on the stream.
func (p *servedProject) answers(text string) bool {
	p.h.t.Helper()
	m := mail.Message{To: "external-of-" + p.alias, Content: text}
	if _, err := p.b.Send(p.h.t.Context(), sessions.Session{ID: "s-" + p.alias, Alias: p.alias}, m); err != nil {
		p.h.t.Fatal(err)
	}
	_, got, ok := p.events.reply()
	return ok && got == text
}

// A person has put an inbox file back as jq prints it. Whoever follows the events of that root took
// the daemon down with it, and the streams of all other projects.
func TestAPrettyPrintedInboxEndsNoDaemon(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	sick, well := h.makeProject("elm"), h.makeProject("birch")
	path := filepath.Join(sick.b.Root(), "s-elm.inbox.json")
	var lines []json.RawMessage
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &lines)
	}
	if err == nil {
		data, err = json.MarshalIndent(lines, "", "  ")
	}
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !well.follow() {
		t.Fatal("no stream before")
	}
	before := h.status().PID
	sick.follow() // the daemon answers, whatever that is
	if !well.answers("still here") {
		t.Error("the other project's stream has ended")
	}
	if status, _, err := h.tryGet("/metrics", h.token()); err != nil || status != 200 || h.status().PID != before {
		log, _ := os.ReadFile(h.file("daemon", "daemon.log"))
		t.Errorf("%d, %v; process %d was %d\n%s", status, err, h.status().PID, before, log)
	}
}

// A series that begins with its first value shows no increase, and one that is absent raises no
// alarm.
func TestWhatIsOwedIsMeasuredFromTheStart(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	_, body := h.get("/metrics", h.token())
	for _, want := range []string{"\nc2c_obligations{root=\"\",state=\"open\"} 0\n", "\nc2c_obligations_acknowledged{root=\"\",surface_support=\"full\"} 0\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in %s", want, body)
		}
	}
}
