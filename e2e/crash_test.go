package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"c2c/e2e/lab"
)

// killerVerb makes the test binary a stand-in for c2c in the hook script. Its first argument is a
// marker file, its second the real c2c; the rest is for that.
const killerVerb = "kill-hook"

// killHook runs c2c with a pipe that holds one page as its output, and kills it in the middle of an
// answer that is longer: it has leased the mail then, and cannot have acknowledged it. It does so
// once.
func killHook(marker, program string, args []string) error {
	// Claude Code sets the variable for SessionStart, whose answer is short.
	if _, err := os.Stat(marker); err == nil || os.Getenv("CLAUDE_ENV_FILE") != "" {
		return unix.Exec(program, append([]string{program}, args...), os.Environ())
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if err := shrink(w); err != nil {
		return fmt.Errorf("shrink pipe: %w", err)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout = os.Stdin, w
	if err := cmd.Start(); err != nil {
		return err
	}
	w.Close()
	// Data, and not the end: the page is full, and the hook waits for room.
	events := []unix.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}
	if _, err := unix.Poll(events, -1); err != nil {
		return err
	}
	if events[0].Revents&unix.POLLIN == 0 {
		return cmd.Wait() // nothing to say: there was no mail yet
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		return fmt.Errorf("the hook ended before it was killed: %v", err)
	}
	return os.WriteFile(marker, nil, 0o600)
}

func TestMailOfAKilledHookIsOfferedAgain(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	marker := l.Home + "/killed"
	killer := l.Write("killer", fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' '%s' \"$@\"\n", program, killerVerb, marker, c2c()))
	script := l.Read(".claude/hooks/c2c-inbox-check.sh")
	patched := strings.Replace(script, c2c(), killer, 1)
	if patched == script {
		t.Fatalf("the script does not name %s:\n%s", c2c(), script)
	}
	l.Write(".claude/hooks/c2c-inbox-check.sh", patched)

	// The body is longer than the page, and still fits an answer.
	long := fmt.Sprintf("{ printf 'word-%%s ' long; head -c 5000 /dev/zero | tr '\\0' x; } | C2C_MCP_SESSION_ID=birch %s send amber --id id-long -", c2c())
	model.Script(bash(long), bash("true"), lab.Say("Finished."))
	p := l.Claude(model, "-p", "please run it")
	p.CloseInput()
	p.Wait()

	if _, err := os.Stat(marker); err != nil {
		t.Fatalf("no hook was killed: %v", err)
	}
	if found := model.Wait(1).Find("word-long"); len(found) != 0 {
		t.Errorf("the killed hook's answer is shown: %+v", found)
	}
	item := once(t, model.Wait(2), "word-long")
	if !strings.Contains(item.Text, `id="id-long"`) {
		t.Errorf("offered again as %+v", item)
	}
	wantRead(t, l, "id-long", "read by hook")
}
