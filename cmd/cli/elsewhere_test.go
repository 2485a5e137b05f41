package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"c2c/project"
	"c2c/sessions"
)

// A session of another project is named with its folder.
func TestElsewhereNamesTheFolder(t *testing.T) {
	home := t.TempDir()
	here := filepath.Join(home, "shop")
	p, err := (&sessions.SystemProcesses{}).Find(os.Getpid())
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
		if err := os.WriteFile(filepath.Join(dir, sessions.RegistryFileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(home, ".c2c")
	write(state, "aaaaaaaaaaaa", "amber", p.PID, p.Start)
	write(state, "bbbbbbbbbbbb", "birch", p.PID, p.Start-1)
	write(state, "cccccccccccc", "cedar;", p.PID, p.Start)
	write(state, "eeeeeeeeeeee", "fir", p.PID, p.Start)
	write(state, "dddddddddddd", "dune", p.PID, p.Start)
	if err := os.WriteFile(filepath.Join(state, project.ReposDir, "dddddddddddd", "broker", sessions.RegistryFileName), []byte(`[{"session_id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	write(state, "\x1b[2Jxxxxxxxx", "yew", p.PID, p.Start-1)
	if err := errors.Join(os.MkdirAll(filepath.Join(state, "folders"), 0o700), os.Mkdir(here, 0o700),
		os.Symlink("aaaaaaaaaaaa 1:1 h.org/shop|"+here, filepath.Join(state, "folders", "1")),
		os.Symlink("bbbbbbbbbbbb 1:2 |"+here, filepath.Join(state, "folders", "2")),
		os.Symlink("cccccccccccc 1:2 |"+here+"/gone", filepath.Join(state, "folders", "3"))); err != nil {
		t.Fatal(err)
	}
	for alias, want := range map[string]string{
		"amber":          "amber is in ~/shop (h.org/shop): run c2c there",
		"AMBER":          "AMBER is in ~/shop (h.org/shop): run c2c there",
		"s-amber":        "s-amber is in ~/shop (h.org/shop): run c2c there",
		"birch":          "birch was in ~/shop, and its session has ended; c2c list shows the sessions of this project",
		"Cedar;":         "Cedar; is in another project: run c2c in the folder where it was started",
		"yew":            "yew was in another project, and its session has ended; c2c list shows the sessions of this project",
		"dune":           "",
		"nobody":         "",
		"../../../amber": "",
	} {
		w := whereabouts{home: home, alias: alias}
		w.look(state)
		if got := w.sentence(); got != want {
			t.Errorf("%q: %q, want %q", alias, got, want)
		}
	}
	w := whereabouts{alias: "amber", root: filepath.Join(state, project.ReposDir, "aaaaaaaaaaaa", "broker")}
	if w.look(state); w.sentence() != "" {
		t.Errorf("its own project: %s", w.sentence())
	}
}
