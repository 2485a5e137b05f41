package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// talk is a running MCP server and the pipes to it.
type talk struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// mcpRows compare c2c's tools with a tool that does nothing, and with a tool that writes a line and
// syncs it.
func mcpRows() []row {
	start := func(w *world) ([]float64, error) { // until the answer to initialize
		start := time.Now()
		t, err := w.serve("dune", w.program("c2cd"), "mcp")
		ms := since(start)
		if t != nil {
			err = errors.Join(err, t.end())
		}
		return one(ms, err)
	}
	poll := call("poll_inbox", "{}")
	does, keeps := limitOf("noop"), limitOf("keep")
	return []row{
		{name: "c2cd mcp, start to first answer", do: start, limit: "empty Go program", against: empty, aim: 7},
		{name: "c2cd mcp, memory", unit: "MB", do: memoryOf, aim: 20, most: 5},
		{name: "poll_inbox over stdio, empty", do: emptied("dune", poll), limit: "mcp-go tool that does nothing", against: does, aim: 3, with: withServers},
		{name: "poll_inbox over stdio, 1 message", do: func(w *world) ([]float64, error) {
			if err := w.read("dune"); err != nil {
				return nil, err
			}
			if _, err := w.time(w.program("c2c"), "send", "dune", "hello"); err != nil {
				return nil, err
			}
			return poll(w)
		}, limit: "mcp-go tool that syncs a line", against: keeps, aim: 2, with: withServers},
		{name: "send over stdio", do: emptied("amber", call("send", `{"to_alias":"amber","content":"hello"}`)),
			limit: "mcp-go tool that syncs a line", against: keeps, aim: 4, with: withServers},
	}
}

func call(tool, arguments string) action {
	return func(w *world) ([]float64, error) { return one(w.server.call(tool, arguments)) }
}

func limitOf(tool string) action {
	return func(w *world) ([]float64, error) { return one(w.plain.call(tool, "{}")) }
}

// withServers starts an MCP server of c2c for the session dune, and a server whose tools do nothing
// (noop).
func withServers(w *world) (err error) {
	if w.server, err = w.serve("dune", w.program("c2cd"), "mcp"); err != nil {
		return err
	}
	w.running = append(w.running, w.server.end)
	if _, err := os.Stat(w.program("noop")); err != nil { // an older build has none
		return nil
	}
	if w.plain, err = w.serve("dune", w.program("noop"), filepath.Join(w.home, "kept")); err == nil {
		w.running = append(w.running, w.plain.end)
	}
	return err
}

const askTools = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`

// memoryOf returns the memory of a server that has listed its tools, in MB.
func memoryOf(w *world) ([]float64, error) {
	t, err := w.serve("dune", w.program("c2cd"), "mcp")
	if err != nil {
		return nil, err
	}
	_, err = t.ask(askTools)
	_, _, kib := usage(t.cmd.Process.Pid)
	return []float64{float64(kib) * 1024 / 1e6}, errors.Join(err, t.end())
}

// serve starts an MCP server for a session, and initializes it.
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

// answer reads lines up to the next answer. The server may send notifications before it.
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
