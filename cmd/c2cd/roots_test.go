package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// A project with two roots of older versions: doctor tells, and the command that it names cures it. There is no client, which
// is a problem of its own.
func TestDoctorTellsOfASecondRootAndMigrateRootMergesIt(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(clone string, want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &out, cwd: filepath.Join(home, clone), c2c: "/opt/c2c", getenv: func(name string) string {
			return map[string]string{"HOME": home}[name]
		}}
		if code := a.main(t.Context(), args); code != want {
			t.Fatalf("%q: exit %d, %s", args, code, out.Bytes())
		}
		return out.String()
	}
	roots := map[string]*broker.Broker{}
	for clone, url := range map[string]string{"ssh": "git@host.org:o/r.git", "web": "https://host.org/o/r"} {
		git := filepath.Join(home, clone, ".git")
		if err := os.MkdirAll(git, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[remote \"origin\"]\n\turl = " + url + "\n"} {
			if err := os.WriteFile(filepath.Join(git, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sum := sha256.Sum256([]byte(url))
		b, err := broker.Open(broker.Config{Root: filepath.Join(home, ".c2c", "repos", hex.EncodeToString(sum[:])[:12], "broker")})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Register(t.Context(), callers.Caller{Explicit: "of-" + clone}, "amber"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Send(t.Context(), sessions.Session{ID: "birch", Alias: "birch"}, mail.Message{To: "amber", Content: "hello"}); err != nil {
			t.Fatal(err)
		}
		roots[clone] = b
	}
	b, err := broker.OpenHere(func(name string) string { return map[string]string{"HOME": home}[name] }, filepath.Join(home, "ssh"), broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	for _, clone := range []string{"ssh", "web"} {
		if out := run(clone, 1, "doctor"); !strings.Contains(out, "second root") || !strings.Contains(out, "c2c migrate-root") || !strings.Contains(out, roots["web"].Root()) {
			t.Errorf("doctor in %s:\n%s", clone, out)
		}
	}
	dry := run("web", 0, "migrate-root", "--dry-run")
	done := run("web", 0, "migrate-root")
	if strings.Replace(dry, "would move", "moved", 1) != done || !strings.Contains(done, "amber-2          was amber, a name that another session has there; 1 message waits\n") {
		t.Errorf("dry run:\n%s\nand then:\n%s", dry, done)
	}
	if out := run("web", 1, "doctor", "--verbose"); strings.Contains(out, "second root") || !strings.Contains(out, roots["ssh"].Root()) {
		t.Errorf("doctor after it:\n%s", out)
	}
	if out := run("web", 0, "migrate-root"); !strings.Contains(out, "one root: "+roots["ssh"].Root()) {
		t.Errorf("run again: %s", out)
	}
	run("web", 1, "migrate-root", home)
}

// A root that was mistyped would answer as if it were right, and stay.
func TestWhatOnlyLooksMakesNoRoot(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	for line, want := range map[string]string{
		"wake status": "no wake daemon runs", "wake stop": "no wake daemon runs", "wake detach --session-id amber": "",
		"wire-daemon status --alias amber": "no wire daemon runs", "wire-daemon stop --alias amber": "no wire daemon of amber runs",
		"wire-daemon list": "no wire daemon was started here",
	} {
		out, err := k.try(strings.Fields(line)...)
		exit := 0
		switch {
		case want == "":
			exit = cli.Failed
		case strings.Contains(line, " status"):
			exit = cli.Nothing
		}
		if !strings.Contains(out, "which is not there") || !strings.Contains(out, want) || exitOf(err) != exit {
			t.Errorf("%s: %v, %s", line, err, out)
		}
	}
	k.try("doctor", "--verbose")
	m := k.monitor("--json") // it waits for the root
	if _, err := os.Stat(k.root()); !os.IsNotExist(err) {
		t.Errorf("they made the root: %v", err)
	}
	k.run("register", "amber", "--session-id", "amber")
	if got := m.event(); got != `{"event_type":"monitor.ready","monitor_ts":0}` {
		t.Errorf("the monitor tells %s", got)
	}
	m.stop()
	if err := m.wait(); err != nil {
		t.Error(err)
	}
}

// A project gets another root while a session runs: a remote was added, or its folder renamed. What does not find the session or its mail
// any more says so, and what to do: change it back, or end the session and bring its mail.
func TestASessionInAFormerRootOfItsProjectIsSaidToBeThere(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ do, undo string }{
		"remote": {"git remote add origin https://host.invalid/o/shop.git", "git remote remove origin"},
		"rename": {"mv ../shop ../store; cd ../store", "mv ../store ../shop; cd ../shop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			out := s.want(`unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; mkdir shop docs; git init -q shop; git init -q docs
				(cd docs; c2c register --session-id d d)
				cd shop; c2c register --session-id script script; c2c start --alias coral sh -- -c '
				unset C2C_MCP_SESSION_ID
				c2c send coral before --id m-1 --from script
				` + change.do + `
				for verb in "list" "list --json" "status m-1"; do c2c $verb 2>&1; done
				c2c register --session-id other other
				for verb in "send coral hi --from other" "ask coral hi --from other" "status m-1" "notify coral --when idle --session-id other" doctor; do c2c $verb 2>&1; done
				(cd ../docs; c2c send coral hi --from d 2>&1)
				` + change.undo + `; c2c status m-1; ` + change.do + `'
				cd ../store 2>/dev/null || true; c2c register --session-id other other`)
			says := regexp.MustCompile(`another root of this project has [a-z, ]+: was its git remote changed, or its folder renamed\? Change it back, or end coral, then run (c2c migrate-root.*)`)
			found := says.FindAllStringSubmatch(out, -1)
			if len(found) != 7 ||
				!strings.Contains(out, "warning  second root") || strings.Contains(out, "in this project yet") ||
				!strings.Contains(out, ", but c2c finds another root there than its own; c2c doctor there says what to do") ||
				!strings.Contains(out, "m-1: queued") {
				t.Fatalf("said %d times in %s", len(found), out)
			}
			folder := "shop"
			if name == "rename" {
				folder = "store"
			}
			if out := s.want("unset C2C_MCP_BROKER_ROOT; cd " + folder + "; c2c send coral hi --from other 2>&1 || true"); !strings.Contains(out, found[0][1]) {
				t.Errorf("ended: %s, want %s", out, found[0][1])
			}
			if out := s.want("unset C2C_MCP_BROKER_ROOT; cd " + folder + "; " + found[0][1] + "; c2c status m-1"); !strings.Contains(out, "m-1: queued") {
				t.Errorf("merged: %s", out)
			}
		})
	}
}
