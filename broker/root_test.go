package broker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/e2e/need"
	"c2c/sessions/callers"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func fp(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:12]
}

func TestRootFollowsTheVariables(t *testing.T) {
	cwd := t.TempDir()
	for _, tt := range []struct {
		name         string
		env          func(string) string
		path, source string
	}{
		{"named", env("C2C_MCP_BROKER_ROOT", " /r ", "HOME", "/h"), "/r", "C2C_MCP_BROKER_ROOT"},
		{"relative", env("C2C_MCP_BROKER_ROOT", "r"), filepath.Join(cwd, "r"), "C2C_MCP_BROKER_ROOT"},
		{"legacy is ignored", env("C2C_MCP_BROKER_ROOT", "/x/.git/c2c/mcp", "HOME", "/h"), "/h/.c2c/repos/default/broker", "HOME"},
		{"state home", env("XDG_STATE_HOME", "/s", "HOME", "/h"), "/s/c2c/repos/default/broker", "XDG_STATE_HOME"},
	} {
		path, source, err := broker.RootFor(callers.Caller{Remote: true, Getenv: tt.env}, cwd)
		if err != nil || path != tt.path || source != tt.source {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.name, path, source, err, tt.path, tt.source)
		}
	}
	if _, err := broker.RootHere(env(), cwd); err == nil {
		t.Error("no HOME: no error")
	}
	for _, relative := range []func(string) string{env("HOME", "h"), env("HOME", "/h", "XDG_STATE_HOME", "s")} {
		if path, err := broker.RootHere(relative, cwd); err == nil {
			t.Errorf("below the directory one happens to be in: %s", path)
		}
	}
	for _, gone := range []string{"", filepath.Join(cwd, "gone")} {
		if path, err := broker.RootHere(env("HOME", "/h"), gone); err == nil {
			t.Errorf("in directory %q the root is %s", gone, path)
		}
		if path, err := broker.RootHere(env("C2C_MCP_BROKER_ROOT", "/r"), gone); err != nil || path != "/r" {
			t.Errorf("in directory %q: %q, %v", gone, path, err)
		}
	}
}

// sudo may keep HOME: what the superuser made there would shut its user out.
func TestTheSuperuserMakesNoRootInAnothersFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Skip(t, "run the tests as root")
	}
	home := t.TempDir()
	if err := os.Chown(home, 65534, -1); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(broker.Config{Root: filepath.Join(home, ".c2c", "repos", "default", "broker")})
	if err == nil || !strings.Contains(err.Error(), "belongs to uid 65534") {
		t.Errorf("opened %v, %v", b, err)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left there: %v, %v", left, err)
	}
}

// own is the name of the root that a directory would have by itself.
func own(t *testing.T, cwd string) string {
	t.Helper()
	path, err := broker.RootHere(env("HOME", t.TempDir()), cwd)
	if err != nil {
		t.Error(err)
	}
	return filepath.Base(filepath.Dir(path))
}

func TestFingerprintIsTheRemoteElseTheTopLevel(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "repo", "a", "b")
	write(t, filepath.Join(sub, "x"), "")
	write(t, filepath.Join(dir, "repo", ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(dir, "repo", ".git", "config"), "[core]\n\tbare = false\n")
	if got, want := own(t, sub), fp(filepath.Join(dir, "repo")); got != want {
		t.Errorf("no remote: %s, want %s", got, want)
	}
	write(t, filepath.Join(dir, "repo", ".git", "config"), "[remote \"origin\"]\n\turl = git@host:o/r.git\n")
	if got, want := own(t, sub), fp("git@host:o/r.git"); got != want {
		t.Errorf("remote: %s, want %s", got, want)
	}

	linked := filepath.Join(dir, "linked")
	gitdir := filepath.Join(dir, "repo", ".git", "worktrees", "linked")
	write(t, filepath.Join(gitdir, "HEAD"), "ref: refs/heads/x\n")
	write(t, filepath.Join(gitdir, "commondir"), "../..\n")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+gitdir+"\n")
	if got, want := own(t, linked), fp("git@host:o/r.git"); got != want {
		t.Errorf("linked work tree: %s, want %s", got, want)
	}
}

// An archive that was unpacked may hold a FIFO, and a link leads anywhere.
func TestWhatIsNoFileInARepositoryBlocksNothing(t *testing.T) {
	plants := map[string]func(string) error{
		"FIFO":              func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link to /dev/zero": func(path string) error { return os.Symlink("/dev/zero", path) },
		"hole": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	}
	for kind, plant := range plants {
		for _, name := range []string{".git/config", ".git/commondir", ".git", "config"} {
			top := t.TempDir()
			write(t, filepath.Join(top, filepath.Dir(name), "HEAD"), "ref: refs/heads/main\n")
			if err := plant(filepath.Join(top, name)); err != nil {
				t.Fatal(err)
			}
			done := make(chan string, 1)
			go func() { done <- own(t, top) }()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatalf("a %s as %s blocks", kind, name)
			}
		}
	}
}
