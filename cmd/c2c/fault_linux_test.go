package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"c2c/cmd/cli"
	"c2c/e2e/namespace"
)

// disk is a file system of 256 KiB with a root on it.
func disk(t *testing.T) (dir, root string) {
	t.Helper()
	dir = namespace.Disk(t, "256k")
	root = filepath.Join(dir, "root")
	for _, name := range []string{"amber", "birch"} {
		if _, errs, code := run(t, root, "", "register", name, "--session-id", name); code != cli.Done {
			t.Fatal(errs)
		}
	}
	if _, errs, code := run(t, root, "birch", "send", "amber", "before"); code != cli.Done {
		t.Fatal(errs)
	}
	return dir, root
}

func snapshot(t *testing.T, root string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cd "$1" && find . -type f ! -name '*.lock' ! -name 'broker.log' -print -exec cat {} +`, "sh", root).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAFullDiskRefusesAndIsStillRead(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	dir, root := disk(t)
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	before := snapshot(t, root)
	_, errs, code := run(t, root, "birch", "send", "amber", strings.Repeat("x", 5000))
	if code != cli.Failed || !strings.Contains(errs, "no space left") {
		t.Errorf("send: exit %d, %s", code, errs)
	}
	if after := snapshot(t, root); after != before {
		t.Errorf("the refused send left\n%s\nwhere there was\n%s", after, before)
	}
	if out, errs, code := run(t, root, "amber", "poll-inbox"); !strings.Contains(out, "before") {
		t.Errorf("poll-inbox: exit %d, %s%s", code, out, errs)
	}
	if out, errs, _ := run(t, root, "amber", "poll-inbox"); !strings.Contains(out, "no messages") || strings.Count(errs, "c2c: acknowledged mail is not archived yet: the disk is full; free some space\n") != 1 {
		t.Errorf("handed over again: %s%s", out, errs)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := run(t, root, "birch", "send", "amber", "after"); code != cli.Done {
		t.Error(errs)
	}
	if out, errs, _ := run(t, root, "amber", "poll-inbox"); !strings.Contains(out, "after") || strings.Contains(out, "before") {
		t.Errorf("with room again: %s%s", out, errs)
	}
	if out, _, _ := run(t, root, "amber", "history"); !strings.Contains(out, "before") || !strings.Contains(out, "after") {
		t.Errorf("history: %s", out)
	}
}

func TestAReadOnlyRootRefuses(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	dir, root := disk(t)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, root)
	for _, args := range [][]string{{"send", "amber", "x"}, {"poll-inbox"}, {"register", "coral"}} {
		if _, errs, code := run(t, root, "birch", args...); code != cli.Failed && args[0] != "poll-inbox" || code != cli.Done && !strings.Contains(errs, "read-only") {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
	}
	// In the sandbox of an agent no folder helps, and its tools run outside.
	var stderr bytes.Buffer
	a := &app{strings.NewReader(""), io.Discard, &stderr, func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root, "CODEX_THREAD_ID": "thread-1", "HOME": filepath.Dir(root)}[name]
	}, filepath.Dir(root), 5 * time.Second}
	for tool, args := range map[string][]string{"send": {"send", "amber", "x", "--from", "birch"}, "me": {"register", "coral", "--session-id", "birch"}} {
		stderr.Reset()
		code := a.main(t.Context(), args)
		if errs := stderr.String(); code != cli.Failed || !strings.Contains(errs, "call c2c's tool "+tool+" ") || strings.Contains(errs, "HOME") {
			t.Errorf("%q in a sandbox: exit %d, %s", args, code, errs)
		}
	}
	if after := snapshot(t, root); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}
