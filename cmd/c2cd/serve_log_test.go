package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/internal/daemon"
)

// secretWords are what stands in requests and mail, and must stand in no log.
const (
	bodyOverHTTP    = "zebra-quartz"
	bodyFromShell   = "walrus-jasper"
	bodyFromOutside = "ermine-ruby"
	wrongToken      = "osprey-beryl"
	wordOfQuery     = "badger-topaz"
	wordOfHeader    = "lynx-garnet"
	wordOfNoJSON    = "otter-onyx"
	wordOfNoTool    = "marten-agate"
	wordOfPath      = "stoat-pearl"
)

// Whoever may read a log is not one who may read mail, or let himself in.
func TestNoLogHasAKeyOrAWordOfAMessage(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "dana", "--session-id", "dana")
	secrets := append(h.lettersFromOutside(), h.login()...) // a client of this process makes it an agent's
	amber, birch := h.dialMCP("amber"), h.dialMCP("birch")
	secrets = append(secrets, h.token(), amber.id, birch.id, bodyOverHTTP, bodyFromShell, wrongToken, wordOfQuery, wordOfHeader,
		wordOfNoJSON, wordOfNoTool, wordOfPath)
	amber.call("register", `{"alias":"amber"}`)
	birch.call("register", `{"alias":"birch"}`)
	messages, leave := birch.listen()
	amber.call("send", `{"to_alias":"birch","kind":"question","message_id":"q-1","content":"`+bodyOverHTTP+`"}`)
	birch.bell(messages)
	leave()
	h.run("send", "birch", bodyFromShell, "--session-id", "dana")
	if got := birch.call("poll_inbox", `{}`); !strings.Contains(got, bodyOverHTTP) || !strings.Contains(got, bodyFromShell) {
		t.Fatalf("polled %s", got)
	}
	birch.call("reply", `{"message_id":"q-1","content":"`+bodyOverHTTP+` again"}`)
	amber.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + wordOfNoTool + `","arguments":{"x":"` + wordOfNoTool + `"}}}`)
	amber.ask(`{"` + wordOfNoJSON)
	if _, err := amber.tryCall("send", `{"to_alias":"`+wordOfNoTool+`","content":"`+bodyOverHTTP+`"}`); err == nil {
		t.Error("mail to nobody was sent")
	}
	for _, request := range h.fill([]string{
		"GET /mcp?token={token}&x=" + wordOfQuery + " HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer " + wrongToken + "\n\n",
		"GET /" + wordOfPath + " HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\n\n",
		"POST /mcp HTTP/1.1\nHost: " + wordOfHeader + "\nCookie: c2c=" + wordOfHeader + "\nAuthorization: Bearer {token}\nContent-Length: 3\n\nabc",
		"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{port}\n" + wordOfHeader + "\n\n", wordOfHeader + "\n\n",
	}) {
		h.say(request)
	}
	h.run("serve", "rotate-token")
	secrets = append(secrets, h.token())
	h.run("serve", "restart") // while it knows sessions
	birch.call("poll_inbox", `{}`)
	h.kill(h.status().PID)
	h.run("serve", "start")
	h.run("serve", "stop")
	h.noLogHas(secrets)
}

// lettersFromOutside comes from a sender and from a stranger behind a bridge, and gives their keys.
func (h *host) lettersFromOutside() (secrets []string) {
	h.t.Helper()
	post := func(key, path, who string) string {
		req, err := http.NewRequest("POST", h.url(path), strings.NewReader(bodyFromOutside))
		if err != nil {
			h.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("X-Sender", who)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			h.t.Fatal(err)
		}
		defer resp.Body.Close()
		said, _ := io.ReadAll(resp.Body)
		return string(said)
	}
	ci, _ := h.allows("ci", "--to", "dana")
	if said := post(ci, "/in/dana", "ci"); !strings.Contains(said, "message_id") {
		h.t.Errorf("from outside: %s", said)
	}
	chat, _ := h.allows("chat", "--to", "dana", "--bridge")
	if said := post(chat, "/", "u1"); !strings.Contains(said, "senders allow") {
		h.t.Errorf("a stranger is told %s", said)
	}
	h.typed("senders", "allow", "chat", "u1")
	return []string{bodyFromOutside, ci, chat}
}

// login opens the page, and gives the code, the cookie and the key.
func (h *host) login() (secrets []string) {
	h.t.Helper()
	found := linkOfPage.FindStringSubmatch(h.types("c2c open --print"))
	if found == nil {
		h.t.Fatal("no link")
	}
	resp, err := http.Post(h.url("/login"), "application/json", strings.NewReader(`{"code":"`+found[1]+`"}`))
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	var said struct{ Key string }
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || said.Key == "" || len(resp.Cookies()) != 1 {
		h.t.Fatalf("login: %s, %v", resp.Status, err)
	}
	return []string{found[1], said.Key, resp.Cookies()[0].Value}
}

// say sends what is no good request, and waits for the end of the answer.
func (h *host) say(request string) {
	h.t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+h.port)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, request)
	conn.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, conn)
}

// noLogHas looks into all logs of the home.
func (h *host) noLogHas(secrets []string) {
	h.t.Helper()
	read := map[string]bool{}
	err := filepath.WalkDir(h.home, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimSuffix(filepath.Base(path), ".old")
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".log") && name != "audit.jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if len(data) > 0 {
			read[name] = true
		}
		for line := range strings.Lines(string(data)) {
			for _, s := range secrets {
				if strings.Contains(line, s) {
					h.t.Errorf("%s: %q in %s", path, s, line)
				}
			}
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
	for _, name := range []string{"daemon.log", "broker.log"} {
		if !read[name] {
			h.t.Errorf("%s has nothing", name)
		}
	}
}

// A panic ends only the work that it is in, so nobody would see it without looking into the log.
func TestDoctorCountsThePanicsOfTheDaemon(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	doctor := func() string { out, _ := h.try("doctor", "--verbose"); return out } // no client is there, which is a problem
	wantText(t, "none", doctor(), "ok       daemon: runs", "!panics")
	log, err := os.OpenFile(filepath.Join(h.home, ".c2c", "daemon", "daemon.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	to := slog.New(slog.NewTextHandler(log, nil))
	for range 2 {
		daemon.Survive(to, "look", func() error { panic("x") })
	}
	to.Warn("words", "of", ` stack="goroutine `) // somebody's words count for nothing
	wantText(t, "two", doctor(), "warning  daemon: panics in its log: 2.", log.Name())
}
