package elsewhere

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/project"
	"c2c/sessions/processes"
	"c2c/sessions/registry"
)

// A session of another project is named with its folder; for root that of another user, too.
func TestElsewhereNamesTheFolder(t *testing.T) {
	home, here := t.TempDir(), must(os.Getwd())
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	p, err := (&processes.System{}).Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	write := func(state, repo, alias string, pid int, start int64) {
		t.Helper()
		dir := filepath.Join(state, project.ReposDir, repo, "broker")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`[{"session_id":"s-%s","alias":%q,"pid":%d,"pid_start_time":%d}]`, alias, alias, pid, start)
		if err := os.WriteFile(filepath.Join(dir, registry.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(home, ".c2c")
	write(state, "aaaaaaaaaaaa", "amber", p.PID, p.Start)
	write(state, "bbbbbbbbbbbb", "birch", p.PID, p.Start-1)
	write(state, "cccccccccccc", "cedar;", p.PID, p.Start)
	write(state, "eeeeeeeeeeee", "fir", p.PID, p.Start)
	write(state, "dddddddddddd", "dune", p.PID, p.Start)
	if err := os.WriteFile(filepath.Join(state, project.ReposDir, "dddddddddddd", "broker", registry.FileName), []byte(`[{"session_id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	dana := filepath.Join(home, "dana")
	write(filepath.Join(dana, ".c2c"), "aaaaaaaaaaaa", "elm", p.PID, p.Start)
	write(filepath.Join(dana, ".c2c"), "bbbbbbbbbbbb", "oak", p.PID, p.Start-1)
	write(state, "\x1b[2Jxxxxxxxx", "yew", p.PID, p.Start-1)
	passwd := filepath.Join(home, "passwd")
	if err := os.WriteFile(passwd, []byte("root:x:0:0::"+home+":/bin/sh\nbroken\ndana:x:1000:1000::"+dana+":/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	find := roots{&processes.System{}, func(_, root string) bool { return !strings.Contains(root, "eeeeee") }}
	for alias, want := range map[string]string{
		"amber":   "amber is in " + here + ": run c2c there",
		"AMBER":   "AMBER is in " + here + ": run c2c there",
		"s-amber": "s-amber is in " + here + ": run c2c there",
		"birch": "birch was in another project, and its session has ended; c2c list shows the sessions of this one. " +
			"If it is this project, before its folder was renamed or its remote changed: c2c migrate-root " + filepath.Join(state, project.ReposDir, "bbbbbbbbbbbb", "broker"),
		"fir":    "fir runs in " + here + ", but c2c finds another root there than its own; c2c doctor there says what to do",
		"Cedar;": "Cedar; is in " + here + ": run c2c there",
		"yew": "yew was in another project, and its session has ended; c2c list shows the sessions of this one. " +
			"If it is this project, before its folder was renamed or its remote changed: c2c migrate-root " + filepath.Join(state, project.ReposDir, `\u001b[2Jxxxxxxxx`, "broker"),
		"oak":            "",
		"dune":           "",
		"nobody":         "",
		"elm":            "elm is a session of dana in " + here + ": run c2c there, as dana",
		"../../../amber": "",
	} {
		w := whereabouts{roots: find, alias: alias}
		w.look(state, "")
		w.lookAsRoot(passwd)
		if got := w.sentence(); got != want {
			t.Errorf("%q: %q, want %q", alias, got, want)
		}
	}
	w := whereabouts{roots: find, alias: "amber", root: filepath.Join(state, project.ReposDir, "aaaaaaaaaaaa", "broker")}
	if w.look(state, ""); w.sentence() != "" {
		t.Errorf("its own project: %s", w.sentence())
	}
}

// One process of Codex has the sessions of many projects, and a client that calls over HTTP can name any folder: where such a process runs
// says nothing about the project of a session.
func TestAProcessOfManyProjectsShowsNoFormerRoot(t *testing.T) {
	home, shop := t.TempDir(), t.TempDir()
	state := filepath.Join(home, ".c2c")
	if err := errors.Join(os.Mkdir(filepath.Join(shop, ".git"), 0o700), os.WriteFile(filepath.Join(shop, ".git", "HEAD"), nil, 0o600),
		os.WriteFile(filepath.Join(shop, ".git", "config"), nil, 0o600), os.Mkdir(state, 0o700), os.MkdirAll(filepath.Join(home, "state"), 0o700),
		os.Symlink(state, filepath.Join(home, "state", "c2c"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(shop)
	getenv := func(name string) string {
		return map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state")}[name]
	}
	p, err := (&processes.System{}).Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	write := func(root, alias, client, facts string) {
		t.Helper()
		row := fmt.Sprintf(`[{"session_id":%q,"alias":%[1]q,"client_type":%q,"pid":%d,"pid_start_time":%d}]`, alias, client, p.PID, p.Start)
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "sessions"), 0o700), os.WriteFile(filepath.Join(root, registry.FileName), []byte(row), 0o600),
			os.WriteFile(filepath.Join(root, "sessions", alias+".json"), []byte(facts), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	own, _, err := project.FindRoot(getenv, shop)
	if err != nil {
		t.Fatal(err)
	}
	write(own, "amber", "claude", `{}`) // it has two names
	other := filepath.Join(state, project.ReposDir, "aaaaaaaaaaaa", "broker")
	for _, c := range []struct {
		client, facts string
		former        int
		says          string
	}{
		{"claude", `{"transport":"stdio"}`, 1, "another root of this project has birch: "},
		{"codex", `{}`, 0, "birch is in another project: "},
		{"claude", `{"transport":"http"}`, 0, "birch is in another project: "},
	} {
		write(other, "birch", c.client, c.facts)
		if all := Former(getenv, shop); len(all) != c.former {
			t.Errorf("%s %s: %d former roots", c.client, c.facts, len(all))
		}
		if says := Explain(getenv, shop, "birch"); !strings.HasPrefix(says, c.says) {
			t.Errorf("%s %s: %s", c.client, c.facts, says)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
