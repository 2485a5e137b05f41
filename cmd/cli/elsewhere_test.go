package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	for alias, want := range map[string]string{
		"amber":          "amber is in ~/shop (h.org/shop): run c2c there, or add --project shop to send, ask or list",
		"AMBER":          "AMBER is in ~/shop (h.org/shop): run c2c there, or add --project shop to send, ask or list",
		"s-amber":        "s-amber is in ~/shop (h.org/shop): run c2c there, or add --project shop to send, ask or list",
		"birch":          "birch was in ~/shop, and c2c does not see it run; c2c list shows the sessions of this project",
		"Cedar;":         "Cedar; is in a project whose folder is not known",
		"yew":            "yew was in a project whose folder is not known, and c2c does not see it run; c2c list shows the sessions of this project",
		"dune":           "",
		"nobody":         "",
		"../../../amber": "",
	} {
		if got := inOther(getenv, "", alias, false); got != want {
			t.Errorf("%q: %q, want %q", alias, got, want)
		}
		if got := inOther(getenv, "", alias, true); strings.Contains(got, "--project") || (got == "") != (want == "") {
			t.Errorf("an agent reads of %q: %q", alias, got)
		}
	}
}

// A person names a project by its folder, its path or its remote, and is told which there are.
func TestAProjectHasSeveralNames(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, ".c2c")
	for i, place := range []string{"aaaaaaaaaaaa 1:1 h.org/a/shop|src/shop", "bbbbbbbbbbbb 1:2 |src/api", "cccccccccccc 1:3 |old/api", "dddddddddddd 1:4 |gone"} {
		head, folder, _ := strings.Cut(place, "|")
		if err := errors.Join(os.MkdirAll(filepath.Join(state, "folders"), 0o700), os.MkdirAll(filepath.Join(state, project.ReposDir, head[:12], "broker"), 0o700),
			os.Symlink(head+"|"+filepath.Join(home, folder), filepath.Join(state, "folders", fmt.Sprint(i)))); err != nil {
			t.Fatal(err)
		}
		if folder != "gone" {
			if err := os.MkdirAll(filepath.Join(home, folder, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	for name, want := range map[string]string{
		"shop": "~/src/shop (h.org/a/shop)", "h.org/a/shop": "~/src/shop (h.org/a/shop)",
		"api":  `several projects are called "api"; name one by its path: ~/src/api, ~/old/api`,
		"sho":  `no project is called "sho"; the projects of this user are ~/src/shop (h.org/a/shop), ~/src/api, ~/old/api`,
		"gone": `no project is called "gone"; the projects of this user are ~/src/shop (h.org/a/shop), ~/src/api, ~/old/api`,
	} {
		p, err := FindProject(getenv, home, name)
		got := p.Name
		if err != nil {
			f := FailureOf("send", err)
			got = f.Message + "; " + f.Hint
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	shop, err := FindProject(getenv, home, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if got := shop.has(getenv, "amber", true, true); !strings.Contains(got, "write to amber@shop if") {
		t.Error(got)
	}
	relay := filepath.Join(state, "relay")
	if err := errors.Join(os.Mkdir(relay, 0o700), os.WriteFile(filepath.Join(relay, "hosts.json"), []byte(`{"hosts":[{"name":"shop"}]}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := shop.has(getenv, "amber", true, true); !strings.Contains(got, "write to amber@aaaaaaaaaaaa if") {
		t.Errorf("a machine is called shop: %s", got)
	}
}
