package budget

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/rooms"
	"c2c/sessions/callers"
)

// server is a server of c2c for the session birch.
type server struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Reader
}

func (w *world) serve(t *testing.T) *server {
	cmd := w.command()
	cmd.Path, cmd.Args = program(t, "c2cd"), []string{"c2cd", "mcp"}
	cmd.Stdin = nil
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &server{t, in, bufio.NewReader(out)}
}

// ask returns the answer to a request: the whole line, and the field result.
func (s *server) ask(method, params string) (line string, result json.RawMessage) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params); err != nil {
		s.t.Fatal(err)
	}
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			s.t.Fatal(err)
		}
		if answer.ID != 0 {
			return strings.TrimSpace(line), answer.Result
		}
	}
}

// call returns the texts of a tool's answer.
func (s *server) call(tool, arguments string) string {
	s.t.Helper()
	_, result := s.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	var answer struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(result, &answer); err != nil || answer.IsError {
		s.t.Fatalf("%s %s: %s %v", tool, arguments, result, err)
	}
	all := ""
	for _, c := range answer.Content {
		all += c.Text
	}
	return all
}

func TestWhatAModelReads(t *testing.T) {
	w := newWorld(t, program(t, "c2c"))
	s := w.serve(t)
	check := func(what, text string, most int) {
		t.Helper()
		t.Logf("%s: %d bytes", what, len(text))
		if len(text) > most {
			t.Errorf("%s has %d bytes, and its budget is %d:\n%s", what, len(text), most, text)
		}
	}
	_, begun := s.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"budget","version":"1"}}`)
	var hello struct{ Instructions string }
	if err := json.Unmarshal(begun, &hello); err != nil {
		t.Fatal(err)
	}
	check("the instructions", hello.Instructions, bytesOfInstructions)
	list, _ := s.ask("tools/list", `{}`)
	check("tools/list and the instructions", list+hello.Instructions, bytesOfTools)
	check("a turn without news", w.must(t, "hook"), 0)

	b, err := broker.Open(broker.Config{Root: w.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	names := []string{"review", "builds", "lounge", "docs", "release"}
	for i := range 47 { // three more are there
		caller := callers.Caller{Explicit: fmt.Sprintf("s-%d", i), Client: "claude"}
		if _, err := b.Register(t.Context(), caller, fmt.Sprintf("worker-%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := b.Rows(t.Context())
	if err != nil || len(rows) != 50 {
		t.Fatal(len(rows), err)
	}
	for _, name := range names {
		for _, row := range rows {
			if _, err := rooms.Join(t.Context(), b, b.Session(row), name, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range [][2]string{
		{"send", `{"to":"amber","content":"hi"}`}, {"send", `{"to":"amber","content":"hi?","kind":"question","answer_by":"20m"}`},
		{"send", `{"to":"all","content":"hi"}`}, {"send", `{"to":"#review","content":"hi"}`}, {"send", `{"to":"#review","content":"@amber @cedar, hi"}`},
		{"send", `{"to":"#review","content":"@all, hi","reason":"the release"}`},
	} {
		check("the receipt of "+tc[0]+" "+tc[1], s.call(tc[0], tc[1]), bytesOfReceipt)
	}
	check("the list of rooms", s.call("look", `{"at":"rooms"}`), bytesOfRooms)
	check("list_rooms", s.call("list_rooms", `{}`), bytesOfRooms)

	for _, name := range names {
		w.must(t, "send", "#"+name, "the build is green", "--from", "cedar")
	}
	check("a digest of five rooms", strings.TrimPrefix(s.call("poll_inbox", `{}`), "[]"), bytesOfDigest)
	w.must(t, "send", "birch", "Is the build green?", "--from", "cedar")
	var hook struct {
		Output struct {
			Text string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(w.must(t, "hook")), &hook); err != nil || !strings.Contains(hook.Output.Text, "Is the build green?") {
		t.Fatalf("%+v %v", hook, err)
	}
	check("a short message that a hook brings", hook.Output.Text, bytesOfMail)
	w.must(t, "send", "birch", "Is the build green?", "--from", "cedar")
	check("the same with poll_inbox", s.call("poll_inbox", `{}`), bytesOfMail)
	check("a turn without news", w.must(t, "hook"), 0)
}
