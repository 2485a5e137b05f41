package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// talk is an MCP server on pipes.
type talk struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// mcp compares tools with one that does nothing, and with one that writes and syncs a line.
func (b *bench) mcp() (err error) {
	servers := map[*world]*talk{}
	if err := b.both(func(w *world) (err error) {
		servers[w], err = w.serve("dune", w.program("c2cd"), "mcp")
		return err
	}); err != nil {
		return err
	}
	plain, err := b.now.serve("dune", b.now.program("noop"), filepath.Join(b.now.home, "kept"))
	if err != nil {
		return err
	}
	defer func() {
		for _, t := range servers {
			err = errors.Join(err, t.end())
		}
		err = errors.Join(err, plain.end())
	}()
	call := func(tool, arguments string) action {
		return func(w *world) (float64, error) { return servers[w].call(tool, arguments) }
	}
	limit := func(tool string) action {
		return func(*world) (float64, error) { return plain.call(tool, "{}") }
	}
	poll := call("poll_inbox", "{}")
	columns()
	for _, row := range []struct {
		figure
		do, limit action
	}{
		{figure{what: "poll_inbox over MCP, empty", limit: "mcp-go tool that does nothing", aim: "1.5"}, emptied("dune", poll), limit("noop")},
		{figure{what: "poll_inbox over MCP, 1 message", limit: "mcp-go tool that syncs a line", aim: "1.5"}, func(w *world) (float64, error) {
			if err := w.read("dune"); err != nil {
				return 0, err
			}
			if _, err := c2c("send", "dune", "hello")(w); err != nil {
				return 0, err
			}
			return poll(w)
		}, limit("keep")},
		{figure{what: "send over MCP, which syncs twice", limit: "mcp-go tool that syncs a line", aim: "3"},
			emptied("amber", call("send", `{"to_alias":"amber","content":"hello"}`)), limit("keep")},
	} {
		if err := b.row(row.figure, pairs, row.do, row.limit); err != nil {
			return err
		}
	}
	return nil
}

// serve starts a server as a session's and shakes hands with it.
func (w *world) serve(sid string, argv ...string) (*talk, error) {
	t := &talk{cmd: exec.Command(argv[0], argv[1:]...)}
	t.cmd.Dir, t.cmd.Env = w.home, w.env(sid)
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.out = bufio.NewReader(out)
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = t.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	if err == nil {
		_, err = io.WriteString(t.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return t, err
}

func (t *talk) ask(question string) (answer []byte, err error) {
	if _, err := io.WriteString(t.in, question+"\n"); err != nil {
		return nil, err
	}
	return t.answer()
}

// answer reads lines up to the next answer. The server may say other things unasked.
func (t *talk) answer() ([]byte, error) {
	for {
		line, err := t.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("read an answer: %w", err)
		}
		var head struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return nil, fmt.Errorf("read an answer: %w", err)
		}
		if head.Method != "" {
			continue
		}
		if bytes.Contains(line, []byte(`"isError":true`)) || !bytes.Contains(line, []byte(`"result"`)) {
			return nil, fmt.Errorf("answered %s", line)
		}
		return line, nil
	}
}

func request(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

func (t *talk) call(tool, arguments string) (float64, error) {
	start := time.Now()
	_, err := t.ask(request(tool, arguments))
	return since(start), err
}

func (t *talk) end() error {
	t.in.Close()
	return t.cmd.Wait()
}

const (
	bodySize = 200
	onTheWay = 64 // requests without an answer
)

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// fill sends n messages to a session, through a server of birch's, and returns the id of the last that was answered.
func (w *world) fill(to string, n int) (last string, err error) {
	t, err := w.serve("birch", w.program("c2cd"), "mcp")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	line := request("send", `{"to_alias":"`+to+`","deferrable":true,"content":"`+strings.Repeat("x", bodySize)+`"}`)
	room := make(chan struct{}, onTheWay)
	written := make(chan error, 1)
	go func() {
		for range n {
			room <- struct{}{}
			if _, err := io.WriteString(t.in, line+"\n"); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for range n {
		answer, err := t.answer()
		if err != nil {
			t.cmd.Process.Kill()
			return "", fmt.Errorf("fill %s: %w", to, err)
		}
		last = string(uuid.Find(answer))
		<-room
	}
	return last, <-written
}
