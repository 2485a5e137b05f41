package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"testing"

	"c2c/e2e/machines"
	"c2c/sessions"
)

// After a boot, nobody connects to a laptop, and it has no mail to send. So mail for it waits on
// devbox until something on the laptop starts its relay.
func TestTheFirstProcessAfterABootStartsTheRelay(t *testing.T) {
	n := connect(t)
	n.pair()
	for _, one := range []struct {
		what string
		run  func()
	}{
		{"an MCP server", func() {
			start(t, n.laptop.Cmd(n.laptop.Session(), "c2c", "mcp"))
		}},
		{"a list", func() {
			n.laptop.C2C("list")
		}},
	} {
		n.laptop.Crash()
		n.devbox.C2C("send", "amber@laptop", one.what)
		past(t, n.laptop) // the machine was off for longer than commands leave between two checks
		one.run()
		n.laptop.Expect("birch@devbox: " + one.what)
	}
	n.laptop.C2C("relay", "stop")
	past(t, n.laptop)
	n.laptop.C2C("list")
	if n.laptop.Relay() != 0 {
		t.Error("the relay runs, although a person has stopped it")
	}
}

// start starts an MCP server, with a client that asks it for nothing.
func start(t *testing.T, server *exec.Cmd) {
	t.Helper()
	in, err := server.StdinPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// past makes the next command check the deadlines. Usually it does when the last check is ten
// minutes old.
func past(t *testing.T, m *machines.Machine) {
	t.Helper()
	dir := m.Root()
	defer dir.Close()
	if err := dir.Remove(sessions.FileName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
