package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// The client runs all the same: c2c may be set up in it in a way that c2c does not know. The list
// says it, too, because a client may wipe the line from the screen.
func TestStartSaysWhatIsMissingInAClientThatIsNotSetUp(t *testing.T) {
	k := newKeeper(t)
	bin := filepath.Join(k.home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "gemini"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+filepath.Join(k.bin, "c2c")+" list\necho runs\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, told := range []bool{true, false} {
		cmd := k.command("start", "--alias", "amber", "gemini")
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		said, listed := strings.Contains(string(out), "c2c: gemini takes c2c only from its"), strings.Contains(string(out), "amber: gemini takes c2c only from its")
		if err != nil || said != told || listed != told || !strings.HasSuffix(string(out), "runs\n") {
			t.Errorf("%v: %s", err, out)
		}
		k.run("install", "gemini")
	}
	cmd := k.command("start", "--alias", "amber", "claude", "--", "--continue") // the newest conversation may be of another session
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "amber has no conversation") {
		t.Errorf("%v: %s", err, out)
	}
}

// Ctrl-C in another terminal, or a script's kill, may reach the launcher alone. Its client decides
// what that means.
func TestAStartedClientThatSurvivesAnInterruptIsLookedAfterStill(t *testing.T) {
	k := newKeeper(t)
	cmd := k.command("start", "--alias", "amber", "bash", "--", "-c",
		`trap 'echo survived' INT; trap exit TERM; echo ready; while :; do read -r line; done`)
	term, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		term.Close()
	})
	lines := bufio.NewReader(term)
	for _, want := range []string{"ready", "survived"} {
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("the client says %q, %v: want %q", line, err, want)
		}
		if want == "ready" {
			cmd.Process.Signal(syscall.SIGINT)
		}
	}
	go io.Copy(io.Discard, lines)
	k.run("register", "birch", "--session-id", "birch")
	k.run("send", "--from", "birch", "--tell-after", "1s", "amber", "is it green?")
	if out := k.run("poll-inbox", "--session-id", "birch", "--wait", "60s"); !strings.Contains(out, "has not read your message") {
		t.Errorf("birch reads %s", out)
	}
}
