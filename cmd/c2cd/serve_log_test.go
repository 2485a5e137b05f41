package main

import (
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretWords are what stands in requests and mail, and must stand in no log.
const (
	bodyOverHTTP  = "zebra-quartz"
	bodyFromShell = "walrus-jasper"
	wrongToken    = "osprey-beryl"
	wordOfQuery   = "badger-topaz"
	wordOfHeader  = "lynx-garnet"
	wordOfNoJSON  = "otter-onyx"
	wordOfNoTool  = "marten-agate"
	wordOfPath    = "stoat-pearl"
)

// Whoever may read a log is not one who may read mail, or let himself in.
func TestNoLogHasAKeyOrAWordOfAMessage(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	amber, birch := h.dialMCP("amber"), h.dialMCP("birch")
	secrets := []string{h.token(), amber.id, birch.id, bodyOverHTTP, bodyFromShell, wrongToken, wordOfQuery, wordOfHeader,
		wordOfNoJSON, wordOfNoTool, wordOfPath}
	amber.call("register", `{"alias":"amber"}`)
	birch.call("register", `{"alias":"birch"}`)
	messages, leave := birch.listen()
	amber.call("send", `{"to_alias":"birch","kind":"question","message_id":"q-1","content":"`+bodyOverHTTP+`"}`)
	birch.bell(messages)
	leave()
	h.run("register", "dana", "--session-id", "dana")
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
	for _, name := range []string{"serve.log", "broker.log"} {
		if !read[name] {
			h.t.Errorf("%s has nothing", name)
		}
	}
}
