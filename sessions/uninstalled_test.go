package sessions

import (
	"strings"

	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A process that was there before is told, one that came later is not, until c2c is installed
// again.
func TestUninstallIsToldToWhatRanThen(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	check := func(client string, pid int, want bool) {
		t.Helper()
		if got := Uninstalled(getenv, client, pid); got != want {
			t.Errorf("process %d of %s: uninstalled is %v", pid, client, got)
		}
	}
	mark := filepath.Join(home, ".c2c", "uninstalled")
	if err := MarkUninstalled(getenv, "codex", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(mark)); err == nil {
		t.Error("a home without any state of c2c has some now")
	}
	if err := os.Mkdir(filepath.Dir(mark), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is like the first
		if err := MarkUninstalled(getenv, "codex", ""); err != nil {
			t.Fatal(err)
		}
	}
	later := exec.Command("cat")
	if _, err := later.StdinPipe(); err != nil { // it waits there
		t.Fatal(err)
	}
	if err := later.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { later.Process.Kill(); later.Wait() }()
	check("codex", os.Getppid(), true)
	check("codex", later.Process.Pid, false)
	check("codex", 0, true)
	check("claude", os.Getppid(), false)
	check("", 0, false)

	if err := MarkUninstalled(getenv, "codex", ""); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(mark, "codex"))
	if err != nil {
		t.Fatal(err)
	}
	boot, _, _ := strings.Cut(string(data), " ")
	for text, want := range map[string]bool{
		fmt.Sprintf("%s %d\n", boot, int64(1)<<60): true,
		"another-boot 9223372036854775807\n":       false, // all that ran then has ended
		"":                                         false,
		"\x00\x00":                                 false,
	} {
		if err := os.WriteFile(filepath.Join(mark, "codex"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check("codex", os.Getppid(), want)
	}
	for range 2 {
		if err := ClearUninstalled(getenv, "codex"); err != nil {
			t.Fatal(err)
		}
		check("codex", os.Getppid(), false)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the empty directory stays")
	}
}

// The client's process shows which configuration the client has. The process that asks may have
// another one.
func TestUninstallFromOneConfigurationIsToldOnlyToIts(t *testing.T) {
	home := t.TempDir()
	private := home + "/a b"
	byDefault := EnvironmentOf([]string{"HOME=" + home})
	byPrivate := EnvironmentOf([]string{"HOME=" + home, "CODEX_HOME=" + private})
	if err := os.Mkdir(filepath.Join(home, ".c2c"), 0o700); err != nil {
		t.Fatal(err)
	}
	client := func(env ...string) int {
		cmd := exec.Command("cat")
		cmd.Env = append(env, "HOME="+home)
		if _, err := cmd.StdinPipe(); err != nil { // it waits there
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd.Process.Pid
	}
	work, other := client(), client("CODEX_HOME="+private)
	if err := MarkUninstalled(byPrivate, "codex", private); err != nil {
		t.Fatal(err)
	}
	if err := ClearUninstalled(byDefault, "codex"); err != nil {
		t.Fatal(err) // a note about another configuration stays
	}
	mark := filepath.Join(home, ".c2c", "uninstalled", "codex")
	data, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	boot, _, _ := strings.Cut(string(data), " ")
	if err := os.WriteFile(mark, fmt.Appendf(nil, "%s %d %s\n", boot, int64(1)<<60, private), 0o600); err != nil { // both clients are older
		t.Fatal(err)
	}
	for name, getenv := range map[string]func(string) string{"the default configuration": byDefault, "the other": byPrivate} {
		if Uninstalled(getenv, "codex", work) {
			t.Errorf("in %s: the client with the configuration that stays set up is told", name)
		}
		if !Uninstalled(getenv, "codex", other) {
			t.Errorf("in %s: the client with the other configuration is not told", name)
		}
	}
	if Uninstalled(byDefault, "codex", 0) || !Uninstalled(byPrivate, "codex", 0) {
		t.Error("of a process that c2c does not know, the own configuration does not count")
	}
}
