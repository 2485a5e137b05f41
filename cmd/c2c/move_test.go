package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions/callers"
)

// A register that takes an absent holder's mail is stopped with the mail in its hands, a second one
// comes, and the first is killed.
func TestAKilledTakeoverLosesNoMail(t *testing.T) {
	const count = 3000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	root := scratch(t)
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	old, heir := mailbox(t, b, "old"), mailbox(t, b, "heir")
	client := exec.Command("cat") // whose end makes the holder absent
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = b.Register(ctx, callers.Caller{Explicit: "old", PID: client.Process.Pid}, "coral")
	in.Close()
	if werr := client.Wait(); err != nil || werr != nil {
		t.Fatal(err, werr)
	}
	msgs := make([]mail.Message, count)
	for i := range msgs {
		msgs[i] = mail.Message{From: "amber", To: "coral", Content: fmt.Sprintf("message %d.", i)}
	}
	if _, err := old.Deliver(ctx, msgs...); err != nil {
		t.Fatal(err)
	}

	lock, err := atomicfile.Acquire(ctx, b.Dir(), heir.LockName()) // the first cannot deliver what it has taken
	if err != nil {
		t.Fatal(err)
	}
	first := exec.Command("c2c", "register", "coral", "--session-id", "heir")
	first.Env = append(os.Environ(), "C2C_MCP_BROKER_ROOT="+root, "HOME="+filepath.Dir(root))
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer first.Process.Kill()
	for waits := true; waits; {
		if waits, err = old.Waiting(); err != nil || ctx.Err() != nil {
			t.Fatal("the first register has not taken the mail", err)
		}
	}
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	lock.Release()

	mustRun(t, root, "", "register", "coral", "--session-id", "heir")
	if facts, err := os.ReadFile(filepath.Join(root, "sessions", "heir.json")); err != nil || !strings.Contains(string(facts), `"move_from"`) {
		t.Errorf("nothing is to be moved while the first has the mail: %s, %v", facts, err)
	}
	if out := mustRun(t, root, "", "list"); !regexp.MustCompile(`(?m)^coral +unknown +- +1 `).MatchString(out) {
		t.Errorf("list says nothing of the mail: %s", out)
	}
	first.Process.Kill()
	first.Wait()
	got := ""
	for {
		out := mustRun(t, root, "heir", "poll-inbox")
		if out == "(no messages)\n" {
			break
		}
		got += out
	}
	for i := range count {
		if n := strings.Count(got, fmt.Sprintf("message %d.\n", i)); n != 1 {
			t.Fatalf("message %d was read %d times", i, n)
		}
	}
	if facts, err := os.ReadFile(filepath.Join(root, "sessions", "heir.json")); err != nil || strings.Contains(string(facts), `"move_from"`) {
		t.Errorf("the old mailbox is empty, and still to be moved: %s, %v", facts, err)
	}
}

func mailbox(t *testing.T, b *broker.Broker, sid string) *inbox.Mailbox {
	t.Helper()
	box, err := b.Mailbox(sid)
	if err != nil {
		t.Fatal(err)
	}
	return box
}
