package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"c2c/inbox"
)

// talk is an MCP server on pipes.
type talk struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// mcp compares poll_inbox with a tool that does nothing, and with one that writes and syncs a line.
func (w world) mcp() (err error) {
	ours, err := w.serve(w.program("c2cd"), "mcp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.end()) }()
	limit, err := w.serve(w.program("noop"), filepath.Join(w.home, "kept"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, limit.end()) }()
	box, err := inbox.Open(w.dir, "dune", inbox.Config{})
	if err != nil {
		return err
	}
	if _, err := box.Drain(context.Background(), "bench"); err != nil {
		return err
	}
	poll := func() (float64, error) { return ours.call("poll_inbox") }
	empty, err := figure{what: "poll_inbox over MCP, empty", limit: "mcp-go tool that does nothing", aim: "1.5"}.
		measure(pairs, poll, func() (float64, error) { return limit.call("noop") })
	if err != nil {
		return err
	}
	empty.print()
	one, err := figure{what: "poll_inbox over MCP, 1 message", limit: "mcp-go tool that syncs a line", aim: "1.5"}.
		measure(pairs, func() (float64, error) {
			if _, err := box.Deliver(context.Background(), inbox.Message{From: "birch", To: "dune", Content: "hello"}); err != nil {
				return 0, err
			}
			return poll()
		}, func() (float64, error) { return limit.call("keep") })
	if err != nil {
		return err
	}
	one.print()
	return nil
}

// serve starts a server as dune's and shakes hands with it.
func (w world) serve(argv ...string) (*talk, error) {
	t := &talk{cmd: exec.Command(argv[0], argv[1:]...)}
	t.cmd.Dir, t.cmd.Env = w.home, w.env("dune")
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
	return t.out.ReadBytes('\n')
}

func (t *talk) call(tool string) (float64, error) {
	start := time.Now()
	answer, err := t.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`)
	took := since(start)
	if err == nil && (bytes.Contains(answer, []byte(`"isError":true`)) || !bytes.Contains(answer, []byte(`"result"`))) {
		err = fmt.Errorf("call %s: %s", tool, answer)
	}
	return took, err
}

func (t *talk) end() error {
	t.in.Close()
	return t.cmd.Wait()
}
