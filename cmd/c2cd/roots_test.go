package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// A project with two roots of older versions: doctor tells, and the command that it names cures it.
// There is no client, which is a problem of its own.
func TestDoctorTellsOfASecondRootAndProjectMergeMergesIt(t *testing.T) {
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
		if out := run(clone, 1, "doctor"); !strings.Contains(out, "second root") || !strings.Contains(out, "c2c project merge") || !strings.Contains(out, roots["web"].Root()) {
			t.Errorf("doctor in %s:\n%s", clone, out)
		}
	}
	k := &keeper{t, programs(t), home}
	person := func(words string) string {
		return k.types("cd web; unset C2C_MCP_BROKER_ROOT; HOME=" + home + " c2c project merge " + words)
	}
	if r, err := rooms.StoreOf(roots["web"].Registry).Create(t.Context(), "review", "amber", false); err != nil || r.Close() != nil {
		t.Fatal(err)
	}
	archive := "C2C_MCP_BROKER_ROOT=" + roots["web"].Root() + " c2c rooms archive review"
	if out := person(" || true"); !strings.Contains(strings.Join(strings.Fields(out), " "), "has rooms, which this does not move: review. Archive each: "+archive) {
		t.Errorf("with a room: %s", out)
	}
	k.types(archive)
	merge := func(words ...string) (string, error) {
		cmd := exec.Command(filepath.Join(programs(t), "c2c"), append([]string{"project", "merge"}, words...)...)
		cmd.Dir, cmd.Env = filepath.Join(home, "web"), []string{"HOME=" + home}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	dry, err := merge("--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := merge(); err == nil || !strings.Contains(out, "only a person merges roots, and ") {
		t.Errorf("no person: %v, %s", err, out)
	}
	done := person("")
	if strings.Replace(dry, "would move", "moved", 1) != done || !strings.Contains(done, "amber-2          was amber, a name that another session has there; 1 message waits\n") {
		t.Errorf("dry run:\n%s\nand then:\n%s", dry, done)
	}
	if out := run("web", 1, "doctor", "--verbose"); strings.Contains(out, "second root") || !strings.Contains(out, roots["ssh"].Root()) {
		t.Errorf("doctor after it:\n%s", out)
	}
	split := func(words string) string {
		return k.types("cd web; unset C2C_MCP_BROKER_ROOT; HOME=" + home + " c2c project split " + words)
	}
	split("")
	if out := run("web", 1, "doctor", "--verbose"); strings.Contains(out, "second root") || !strings.Contains(out, "this clone was split from the others of its remote") {
		t.Errorf("doctor in a clone that was split:\n%s", out)
	}
	split("--undo")
	if out := run("web", 1, "doctor", "--verbose"); !strings.Contains(out, "second root") || strings.Contains(out, "was split") {
		t.Errorf("doctor in a clone that is none of its own any more:\n%s", out)
	}
	person("")
	if out := person(""); !strings.Contains(out, "one root: "+roots["ssh"].Root()) {
		t.Errorf("run again: %s", out)
	}
	if out := person(home + " || echo failed"); !strings.HasSuffix(out, "failed\n") {
		t.Errorf("no root: %s", out)
	}
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

// A remote is added, or the folder renamed: as long as a session of the former root runs, the
// project keeps that root. When none runs, what does not find a session or its mail says where it
// is, and the one command that brings it. An agent gets no such command.
func TestAProjectKeepsItsRootWhileSessionsRun(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"remote": "git remote add origin https://host.invalid/o/shop.git",
		"rename": "mv ../shop ../store; cd ../store",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			out := s.want(`unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; mkdir shop; git init -q shop
				cd shop; c2c register --session-id script script; c2c start --alias coral sh -- -c '
				unset C2C_MCP_SESSION_ID
				c2c send coral before --id m-1 --from script
				` + change + `
				c2c list --json; c2c status m-1; c2c send coral again --from script; c2c doctor | grep root; true'`)
			if !strings.Contains(out, `"alias": "coral"`) || !strings.Contains(out, "m-1: queued") || strings.Contains(out, "second root") {
				t.Errorf("while it runs: %s", out)
			}
			in := "unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; cd " + strings.TrimSpace(map[string]string{"remote": "shop", "rename": "store"}[name]) + "; "
			const says = "coral: c2c project merge brings its mail here"
			out = s.want(in + "c2c list; c2c list --json; c2c status m-1 || true")
			if strings.Count(out, says) != 3 || strings.Count(out, "nobody has used this root of the project of "+s.home) != 3 {
				t.Errorf("it has ended: %s", out)
			}
			out = s.want(in + "c2c register --session-id other other; c2c send coral hi --from other || c2c doctor || true")
			if !strings.Contains(out, "has coral: c2c project merge brings") || !strings.Contains(out, "warning  second root") {
				t.Errorf("another session is here: %s", out)
			}
			agent := in + "export CLAUDE_CODE_SESSION_ID=u1; "
			if out := s.want(agent + "c2c send coral hi --from other || true"); strings.Contains(out, "project merge") || !strings.Contains(out, "has coral: tell your user") {
				t.Errorf("an agent is told: %s", out)
			}
			s.refused(agent+"c2c project merge", "only a person merges roots, and ")
			if out, err := s.atTerminal(in + "c2c project merge; c2c status m-1"); err != nil || !strings.Contains(out, "m-1: queued") {
				t.Errorf("merged: %s", out)
			}
		})
	}
}

// A project keeps the roots of all its earlier remotes. If c2c is killed while it records the next
// one, the link of the last root is missing.
func TestAProjectKeepsAllItsFormerRoots(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]string{"": "", "killed": "; rm $(ls -d ~/.c2c/folders/* | grep -v '[.].*[.]'); c2c list >&2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			const in = "unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; cd shop; "
			s.want("git init -q shop; git -C shop remote add origin https://h.invalid/one")
			for _, remote := range []string{"one", "two", "three"} {
				s.want(in + "git remote set-url origin https://h.invalid/" + remote + "; c2c register --session-id " + remote + " " + remote + kill)
			}
			out := s.want(in + "c2c project merge --dry-run; c2c send two hi --from three || true")
			if strings.Count(out, "would move from") != 2 || !strings.Contains(out, "has two: c2c project merge brings") {
				t.Errorf("three: %s", out)
			}
			out = s.want(in + `git remote set-url origin https://h.invalid/two; c2c start --alias coral sh -- -c '
				unset C2C_MCP_SESSION_ID; git remote set-url origin https://h.invalid/four; c2c list --all --json'`)
			if !strings.Contains(out, `"alias": "coral"`) || !strings.Contains(out, `"alias": "two"`) {
				t.Errorf("a session of two runs: %s", out)
			}
		})
	}
}

// Another repository may be made at the path of one that was removed, or with its inode.
func TestARepositoryInThePlaceOfAnotherGetsNothingOfIt(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	const in = "unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; "
	make := func(remote string) string {
		return in + "rm -rf shop; mkdir shop; cd shop; git init -q; git remote add origin https://h.invalid/" + remote + "; c2c register --session-id " + remote + " " + remote + "; "
	}
	s.want(make("one"))
	out := s.want(make("two") + "c2c project merge --dry-run; c2c list --all")
	if strings.Contains(out, "would move") || strings.Contains(out, "\none ") {
		t.Errorf("%s", out)
	}
}

// A merge cannot be undone, so the root of another project is not merged, and no hint names it.
func TestTheRootOfAnotherProjectIsNotMerged(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	const in = "unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; "
	s.want(in + `for p in shop docs; do mkdir $p; git init -q $p; git -C $p remote add origin https://h.org/$p; done
		(cd docs; c2c register --session-id d d); cd shop; c2c register --session-id s s`)
	const docs = "$(dirname $(grep -l '\"d\"' ~/.c2c/repos/*/broker/registry.json))"
	if out := s.want(in + "cd shop; c2c send d hi --from s || true"); strings.Contains(out, "project merge") || !strings.Contains(out, "d was in ~/docs (h.org/docs), and c2c does not see it run") {
		t.Errorf("the hint: %s", out)
	}
	refused := func(says string) {
		t.Helper()
		if out, err := s.atTerminal(in + "cd shop; c2c project merge </dev/null " + docs); err == nil || !strings.Contains(strings.Join(strings.Fields(out), " "), says) {
			t.Errorf("%v: %s; want %q", err, out, says)
		}
	}
	if out := s.want(in + "cd shop; c2c project merge --dry-run ../docs 2>&1 || true; find ../docs -name broker"); !strings.Contains(out, "is not a root that c2c has made") ||
		!strings.HasSuffix(strings.TrimSpace(out), "c2c doctor shows the other roots of a project") {
		t.Errorf("a folder: %s", out)
	}
	refused("is the root of another project, " + s.home + "/docs (h.org/docs): nothing is merged")
	s.want("rm -rf docs")
	refused("was the root of " + s.home + "/docs (h.org/docs): run this in a terminal")
	if out := s.want(in + "cd shop; c2c project merge --dry-run " + docs); !strings.Contains(out, "would move from") {
		t.Error(out)
	}
}
