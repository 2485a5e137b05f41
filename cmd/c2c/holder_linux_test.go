//go:build !portable

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/cmd/cli"
	"c2c/e2e/need"
)

// A debugger or Ctrl-Z stopped the process that was writing.
func TestAStoppedHolderOfALockIsNamed(t *testing.T) {
	need.Tools(t, "python3")
	root := scratch(t)
	mustRun(t, root, "birch", "send", "amber", "before")
	holder := exec.Command("python3", "-c", `
import fcntl, sys
f = open(sys.argv[1], "r+")
fcntl.lockf(f, fcntl.LOCK_EX)
print("mine", flush=True)
sys.stdin.read()`, filepath.Join(root, "amber.inbox.lock"))
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer holder.Process.Signal(syscall.SIGCONT)
	var errs strings.Builder
	a := &app{strings.NewReader(""), &strings.Builder{}, &errs, func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": "birch"}[name]
	}, root, time.Millisecond}
	code := a.main(t.Context(), []string{"send", "amber", "x"})
	if want := fmt.Sprintf("process %d (python3", holder.Process.Pid); code != cli.Locked || !strings.Contains(errs.String(), want) {
		t.Errorf("exit %d, %s, want %q", code, errs.String(), want)
	}
}
