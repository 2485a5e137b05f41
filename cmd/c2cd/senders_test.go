package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"c2c/e2e/need"
	"c2c/serve/outside"
)

// atTerminal runs c2c as a person types it.
func (h *host) atTerminal(args ...string) (string, error) {
	h.t.Helper()
	return h.onTerminal(h.command(args...))
}

func (h *host) onTerminal(cmd *exec.Cmd) (string, error) {
	h.t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		h.t.Fatal(err)
	}
	defer keyboard.Close()
	defer tty.Close()
	cmd.Stdin, cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// typed is atTerminal for what must succeed.
func (h *host) typed(args ...string) string {
	h.t.Helper()
	out, err := h.atTerminal(args...)
	if err != nil {
		h.t.Fatalf("c2c %q: %v: %s", args, err, out)
	}
	return out
}

// curl runs that, and gives what the server has answered.
func (h *host) curl(args ...string) string {
	h.t.Helper()
	need.Tools(h.t, "curl")
	cmd := exec.Command("curl", append([]string{"-sS", "--max-time", "60"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("curl %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (h *host) url(path string) string { return "http://127.0.0.1:" + h.port + path }

var tokenLine = regexp.MustCompile(`(?m)^(?:token|secret) (\S+)$`)

func (h *host) allows(args ...string) (key, says string) {
	h.t.Helper()
	says = h.typed(append([]string{"senders", "allow"}, args...)...)
	found := tokenLine.FindStringSubmatch(says)
	if found == nil {
		h.t.Fatalf("no key in %q", says)
	}
	return found[1], says
}

// What the help says, typed as it stands, with curl itself.
func TestMailFromCurl(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	key, says := h.allows("ci", "--to", "birch")
	line := regexp.MustCompile(`(?m)^  (.*\| (curl .*))$`).FindStringSubmatch(says)
	if line == nil || strings.Contains(line[2], key) || strings.Contains(says, "nobody") {
		t.Fatalf("%q", says)
	}
	if out, err := exec.Command("sh", "-c", line[1]+" -sS").Output(); err != nil || !strings.Contains(string(out), `"queued":true`) {
		t.Errorf("%s: %v: %s", line[1], err, out)
	}
	bearer := "Authorization: Bearer " + key
	if out := h.curl("-H", bearer, "-H", "X-Sender: ci", "-d", "build failed on main: https://ci.example.com/run/1234", h.url("/")); out != "ok" {
		t.Errorf("as the reference has it: %q", out)
	}
	if out := h.curl("-H", bearer, "-H", "Content-Type: application/json", "-d", `{"text":"look","kind":"question","chat_id":"42"}`, h.url("/in/birch")); !strings.Contains(out, "message_id") {
		t.Errorf("%q", out)
	}
	if out := h.curl("-w", "%{http_code}", "-o", "/dev/null", "-d", "x", h.url("/")); out != "401" {
		t.Errorf("without a key: %s", out)
	}
	mail := h.run("poll-inbox", "--session-id", "s-birch")
	for _, want := range []string{`from="external-ci" by="outside" chat_id="ci" path="/" method="POST"`, "run/1234", `chat_id="42" path="/in/birch"`, `kind="question"`} {
		if !strings.Contains(mail, want) {
			t.Errorf("%s is not in %s", want, mail)
		}
	}
	if out := h.run("history", "--session-id", "s-birch"); !strings.Contains(out, "external-ci") {
		t.Errorf("history: %s", out)
	}
	h.wantNoKey(key)
	h.typed("senders", "deny", "ci")
	if out := h.curl("-w", "%{http_code}", "-o", "/dev/null", "-H", bearer, "-d", "x", h.url("/")); out != "401" {
		t.Errorf("denied: %s", out)
	}
	if out := h.run("senders", "list"); !regexp.MustCompile(`(?m)^last refused: [-0-9]+ [:0-9]+, without a name \(token\): no sender has this token: it was denied, or never allowed$`).MatchString(out) {
		t.Errorf("the person is told %s", out)
	}
	if out := h.run("send", "--from", "s-birch", "external-ci", "are you there?"); !strings.Contains(out, "its key was taken away, so nobody there gets the message") {
		t.Errorf("who writes to it is told %s", out)
	}
	if out := h.curl("-H", bearer, h.url("/events")); !strings.Contains(out, "c2c senders allow makes") {
		t.Errorf("denied at the stream: %s", out)
	}
	h.allows("ci", "--to", "birch")
	if out := h.run("send", "--from", "s-birch", "external-ci", "and now?"); !strings.Contains(out, "gets the message from GET /events") {
		t.Errorf("who writes to it once it is allowed anew is told %s", out)
	}
}

// wantNoKey fails if a key, or words of a message, stand in a log.
func (h *host) wantNoKey(key string) {
	h.t.Helper()
	for _, name := range []string{h.file("daemon", "daemon.log"), filepath.Join(h.root(), "broker.log")} {
		data, err := os.ReadFile(name)
		if err != nil || len(data) == 0 {
			h.t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		for _, secret := range []string{key, "run/1234"} {
			if strings.Contains(string(data), secret) {
				h.t.Errorf("%s has %q", name, secret)
			}
		}
	}
}

func TestOnlyAPersonLetsOthersIn(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	refused := func(out string, err error, says string) {
		t.Helper()
		if err == nil || !strings.Contains(out, says) {
			t.Errorf("%v: %s; want %q", err, out, says)
		}
	}
	for _, args := range [][]string{{"allow", "ci", "--to", "birch"}, {"deny", "ci"}, {"allow", "chat", "u1"}} {
		args = append([]string{"senders"}, args...)
		out, err := h.try(args...) // a script, or an agent that nobody knows
		refused(out, err, "only a person lets others write from outside, and this shell has no terminal\nc2c: hint: run this command in a terminal of your own")
		cmd := h.command(args...)
		cmd.Env = append(cmd.Env, "C2C_MCP_SESSION_ID=s-birch")
		shell, err := cmd.CombinedOutput()
		refused(string(shell), err, "only a person lets others write from outside, and this is the shell of birch")
	}
	if out := h.run("senders", "list"); !strings.Contains(out, "no sender may write") {
		t.Errorf("%s", out)
	}
	h.allows("ci", "--to", "birch,oak")
	out, err := h.atTerminal("senders", "allow", "ci", "--to", "birch")
	refused(out, err, "there is a sender with this name")
	refused(out, err, "c2c senders deny ci")
	other := h.command("senders", "allow", "ci", "--to", "birch")
	other.Env = append(other.Env, "C2C_MCP_BROKER_ROOT="+t.TempDir())
	out, err = h.onTerminal(other) // to deny it would take the key of who uses it
	refused(out, err, "take another name here")
	if out := h.run("senders", "list"); !strings.Contains(out, "this one") {
		t.Errorf("%s", out)
	}
	out, err = h.atTerminal("senders", "deny", "ghost")
	refused(out, err, "no such sender")
	out, err = h.atTerminal("senders", "allow", "CI", "--to", "birch")
	refused(out, err, "small letters")
	out, err = h.atTerminal("senders", "allow", "cd")
	refused(out, err, "--to is missing")
	for _, to := range []string{"all", "birch,c2c-system", "person-1"} {
		out, err = h.atTerminal("senders", "allow", "cd", "--to", to)
		refused(out, err, "is reserved")
	}
	secret, says := h.allows("hub", "--to", "birch", "--github")
	if !strings.Contains(says, "/in/birch?from=hub") || strings.Contains(says, "curl") {
		t.Errorf("%s", says)
	}
	var all []outside.Listed
	text := h.run("senders", "list", "--json")
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 2 || all[0].Root != h.root() || all[1].Scheme != "github" || strings.Contains(text, secret) {
		t.Errorf("%s: %v", text, err)
	}
}

// While the daemon is down, a sender is told where it will be: the port is kept.
func TestASenderIsToldThePortOfTheLastTime(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	h.run("serve", "stop")
	if _, says := h.allows("ci", "--to", "birch"); !strings.Contains(says, h.url("/in/birch")) || !strings.Contains(says, "the daemon that listens there does not run yet: c2c serve start") {
		t.Errorf("%s", says)
	}
}

func TestDoctorTellsWhyNobodyOutsideGetsIn(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	h.run("serve", "stop")
	out, _ := h.try("doctor", "--verbose")
	wantText(t, "nobody is to write", out, "ok       daemon: does not run")
	h.allows("ci", "--to", "birch")
	out, _ = h.try("doctor", "--verbose")
	wantText(t, "it does not run", out, "warning  HTTP daemon: does not run, so senders outside (c2c senders list) reach no session: c2c serve start")
	if err := os.Chmod(h.file("http", "senders.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ = h.try("doctor", "--verbose")
	wantText(t, "the list is for all to read", out, "problem  senders: ", "other users may read it (mode 0644); nobody may write from outside: "+repairSenders)
	out, _ = h.try("senders", "list")
	wantText(t, "senders list", out, "hint: "+repairSenders)
}

// A person lets in a writer who is new behind a bridge. An answer goes back to that writer.
func TestAPersonLetsAWriterOfABridgeIn(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	key, _ := h.allows("chat", "--to", "birch", "--bridge")
	post := func(text string) string {
		return h.curl("-H", "Authorization: Bearer "+key, "-H", "X-Sender: u1", "-d", text, h.url("/"))
	}
	for _, out := range []string{post("let me in"), h.run("senders", "list")} {
		if !strings.Contains(out, "c2c senders allow chat 'u1'") {
			t.Errorf("%s", out)
		}
	}
	if out := h.typed("senders", "allow", "chat", "u1"); !strings.Contains(out, "u1 may write through chat to birch") {
		t.Errorf("%s", out)
	}
	if out := post("hello"); out != "ok" {
		t.Errorf("%s", out)
	}
	if mail := h.run("poll-inbox", "--session-id", "s-birch"); strings.Contains(mail, "let me in") || !strings.Contains(mail, `identity="u1"`) {
		t.Errorf("%s", mail)
	}
	h.run("reply", "--from", "s-birch", "hi there")
	h.typed("senders", "deny", "chat", "u1")
	if out := post("again"); !strings.Contains(out, "senders allow") {
		t.Errorf("denied, and told %q", out)
	}
	if out := h.run("list", "--json"); !strings.Contains(out, `"state":"external"`) && !strings.Contains(out, `"state": "external"`) {
		t.Errorf("%s", out)
	}
	if out, err := h.try("poll-inbox", "--session-id", "external-chat"); err == nil || !strings.Contains(out, "nobody here may use it") {
		t.Errorf("its mail was read: %s", out)
	}
}

// A sender that gets no answer sends the same again, with the same id. Nothing is lost, and nothing
// is there twice.
func TestMailFromOutsideOverKills(t *testing.T) {
	h := newHost(t)
	h.run("register", "birch", "--session-id", "s-birch")
	h.run("serve", "start", "--port", h.port)
	key, _ := h.allows("ci", "--to", "birch")
	const lives, each = 4, 8 // below the rate of a sender in each life
	open := map[string]bool{}
	for life := range lives {
		for i := range each - len(open) {
			open[fmt.Sprintf("m-%d-%d", life, i)] = true
		}
		taken, answered := make(chan string, each), make(chan bool, each)
		var posts sync.WaitGroup
		for id := range open {
			posts.Go(func() {
				out, _ := exec.Command("curl", "-sS", "--max-time", "60", "-H", "Authorization: Bearer "+key, "-d", `{"text":"x","message_id":"`+id+`"}`, h.url("/in/birch")).Output()
				if strings.Contains(string(out), `"queued":true`) {
					taken <- id
				} else if life == lives-1 {
					t.Errorf("%s: %s", id, out)
				}
				answered <- true
			})
		}
		<-answered // the others are on their way
		if life < lives-1 {
			h.kill(h.status().PID)
		}
		posts.Wait()
		close(taken)
		for id := range taken {
			delete(open, id)
		}
		if life < lives-1 {
			h.run("serve", "start", "--port", h.port)
		}
	}
	if len(open) > 0 {
		t.Errorf("not taken although nobody was killed: %v", open)
	}
	var all []struct {
		ID string `json:"message_id"`
	}
	if err := json.Unmarshal([]byte(h.run("poll-inbox", "--session-id", "s-birch", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for _, m := range all {
		ids[m.ID]++
	}
	for life := range lives {
		for i := 0; ids[fmt.Sprintf("m-%d-%d", life, i)] > 0; i++ {
			delete(ids, fmt.Sprintf("m-%d-%d", life, i))
		}
	}
	if len(ids) > 0 || len(all) < each {
		t.Errorf("%d messages, of which these are out of place: %v", len(all), ids)
	}
}
