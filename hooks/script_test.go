package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Before an edit the script starts c2c only where something is claimed, and never fails the tool
// call.
func TestTheScriptStartsC2COnlyWhereSomethingIsClaimed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	c2c := write("bin/c2c", "#!/bin/sh\necho \"$* in $C2C_MCP_BROKER_ROOT of $(cat)\"\nexit 2\n")
	script := write("script", string(ScriptFor(c2c)))
	write("home/.c2c/pointers/s1", filepath.Join(dir, "root", "amber")+"\n")
	edit := func() string {
		t.Helper()
		cmd := exec.Command("sh", script, "edit")
		cmd.Env, cmd.Stdin = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "CLAUDE_CODE_SESSION_ID=s1"}, strings.NewReader("an event")
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("the call fails: %v", err)
		}
		return string(out)
	}
	if out := edit(); out != "" {
		t.Errorf("without claims it starts c2c: %s", out)
	}
	write("root/claims.json", "[]")
	if out, want := edit(), "hook --client claude --edit in "+filepath.Join(dir, "root")+" of an event\n"; out != want {
		t.Errorf("with claims: %q, want %q", out, want)
	}
}
