package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

func TestTheOpenThreadsOfCodexAreThoseWithALockFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), CodexLocks)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"thread-1.lock", "notes.txt"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if got, known := codex().Open(os.Getpid()); len(got) != 1 || !got["thread-1"] || !known {
		t.Errorf("open %v, %v", got, known)
	}
	if got, known := codex().Open(1 << 30); len(got) != 0 || known {
		t.Errorf("a process that is gone has %v open, %v", got, known)
	}
}

// A terminal that asks something first has not opened the thread in its arguments; one that shows
// another thread has left it.
func TestATerminalOfCodexOpensItsThreadAfterADialog(t *testing.T) {
	program := filepath.Join(t.TempDir(), "codex")
	shell, err := os.ReadFile("/bin/sh")
	if err == nil {
		err = os.WriteFile(program, shell, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	opening := func(open int, thread string) bool {
		threads := map[string]bool{}
		for n := range open {
			threads[strconv.Itoa(n)] = true
		}
		return codex().Opening(threads)[thread]
	}
	if opening(0, "thread-1") {
		t.Error("no terminal has the thread")
	}
	start := func(cmd *exec.Cmd) {
		t.Helper()
		terminal, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { terminal.Close(); cmd.Process.Kill(); cmd.Wait() })
		if _, err := terminal.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	input, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	defer keep.Close()
	server := exec.Command(program, "-c", "echo ready; read x", "mcp-server", "thread-1")
	server.SysProcAttr = &syscall.SysProcAttr{Ctty: 1}
	server.Stdin = input // an MCP server has the terminal of the client that has started it, and reads a pipe
	start(server)
	if opening(0, "thread-1") {
		t.Error("a server opens the thread")
	}
	start(exec.Command(program, "-c", "echo ready; read x", "resume", "thread-1"))
	if !opening(0, "thread-1") || opening(0, "thread-2") || opening(1000, "thread-1") {
		t.Errorf("opening %v, another thread %v, a thread for each terminal %v", opening(0, "thread-1"), opening(0, "thread-2"), opening(1000, "thread-1"))
	}
}
