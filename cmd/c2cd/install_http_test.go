package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func (h *host) cursor() string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.home, ".cursor", "mcp.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

func wantText(t *testing.T, what, got string, words ...string) {
	t.Helper()
	for _, word := range words {
		without, no := strings.CutPrefix(word, "!")
		if strings.Contains(got, without) == no {
			t.Errorf("%s: %q in\n%s", what, word, got)
		}
	}
}

// The entry leads to the daemon that runs, and whoever changes the daemon tells when it does not
// any more.
func TestCursorIsSetUpOverHTTPWhileTheDaemonRuns(t *testing.T) {
	h := newHost(t)
	wantText(t, "no daemon", h.run("install", "cursor", "--http"), "no HTTP daemon answers", "stdio")
	wantText(t, "no daemon", h.cursor(), `"command"`, "!url")

	h.run("serve", "start", "--port", h.port)
	wantText(t, "dry", h.run("install", "cursor", "--http", "--dry-run"), `"Authorization": "Bearer …"`, "!"+h.token())
	wantText(t, "installed", h.run("install", "cursor", "--http"), "!"+h.token(), "!no HTTP daemon")
	wantText(t, "installed", h.cursor(), "http://127.0.0.1:"+h.port+"/mcp", "Bearer "+h.token(), "!command")
	out, _ := h.try("doctor", "--verbose")
	wantText(t, "doctor", out, "cursor mcp server: http://127.0.0.1:"+h.port+"/mcp", "!"+h.token())
	c := h.dialMCP("cursor-vscode")
	wantText(t, "diagnostics", c.call("runtime_diagnostics", `{}`), `"transport":"http"`, `"daemon_url":"http://127.0.0.1:`+h.port+`/mcp"`, `"root_chosen_by":"header"`)

	old := h.token()
	wantText(t, "rotated", h.run("serve", "rotate-token"), "cursor: it has the old token: c2c install cursor --http")
	out, _ = h.try("doctor", "--verbose")
	wantText(t, "doctor", out, "its token is not that of the HTTP daemon")
	h.run("install", "cursor", "--http")
	wantText(t, "installed again", h.cursor(), "Bearer "+h.token(), "!"+old)

	wantText(t, "restarted", h.run("serve", "restart"), "!cursor")
	wantText(t, "stopped", h.run("serve", "stop"), "cursor: its tools use HTTP, and do not work until c2c serve start")
	out, _ = h.try("doctor", "--verbose")
	wantText(t, "doctor", out, "no HTTP daemon answers")
	h.run("install") // an update
	wantText(t, "updated", h.cursor(), "Bearer "+h.token())
	h.run("uninstall", "cursor")
	if _, err := os.Stat(filepath.Join(h.home, ".cursor", "mcp.json")); !os.IsNotExist(err) {
		t.Errorf("after uninstall: %v", err)
	}
	for _, args := range [][]string{{"install", "--http"}, {"install", "gemini", "--http"}} {
		if out, err := h.try(args...); err == nil || !strings.Contains(err.Error()+out, "--http is for cursor") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

// As docs/any-client.md shows it. Nobody is told to run c2c install gemini --http, which is
// refused.
func TestAClientThatAPersonHasSetUpOverHTTP(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("install", "gemini")
	h.run("uninstall", "gemini")
	entry := `{"mcpServers": {"c2c": {"type": "http", "url": "http://127.0.0.1:` + h.port + `/mcp", "headers": {"Authorization": "Bearer ` + h.token() + `", "X-C2C-Project": "/p"}}}}`
	if err := os.MkdirAll(filepath.Join(h.home, ".gemini"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.home, ".gemini", "settings.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := h.try("doctor", "--verbose")
	wantText(t, "doctor", out, "gemini mcp server: http://127.0.0.1:"+h.port+"/mcp", "!cut off", "!gemini hooks")
	wantText(t, "rotated", h.run("serve", "rotate-token"), "gemini: it has the old token\n")
	out, _ = h.try("doctor", "--verbose")
	wantText(t, "doctor", out, "gemini mcp server: its token is not that of the HTTP daemon", "!--http")
	wantText(t, "stopped", h.run("serve", "stop"), "gemini: its tools use HTTP, and do not work until c2c serve start\n")
}

func TestUninstallEndsTheDaemonAndLeavesNothingOfIt(t *testing.T) {
	h := newHost(t)
	const ends = "the daemon ends"
	wantText(t, "none runs", h.run("uninstall"), "!"+ends)
	h.run("serve", "start", "--port", h.port)
	wantText(t, "one client alone", h.run("uninstall", "cursor"), "!"+ends)
	wantText(t, "dry", h.run("uninstall", "--dry-run"), ends)
	if st := h.status(); !st.Answers {
		t.Errorf("%+v", st)
	}
	wantText(t, "one runs", h.run("uninstall"), ends)
	if _, err := os.Stat(h.file("daemon")); err == nil {
		left, _ := os.ReadDir(h.file("daemon"))
		t.Errorf("it leaves %v", left)
	}
	wantText(t, "it has ended", h.run("uninstall"), "!"+ends)
}

// Who listens at the port and is not ours gets no token.
func TestAStrangerIsNoDaemonToInstall(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("serve", "stop")
	if err := os.WriteFile(h.file("http-mcp.json"), []byte(`{"url":"http://127.0.0.1:`+h.port+`/mcp","port":`+h.port+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	wantText(t, "a file of a daemon that was killed", h.run("install", "cursor", "--http"), "no HTTP daemon answers")
	wantText(t, "stdio", h.cursor(), "!url")
}

// People keep their configuration in git, also by a link.
func TestNoTokenGoesIntoGit(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	kept := filepath.Join(h.home, "kept")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", kept, "-c", "user.name=x", "-c", "user.email=x@example.invalid"}, args...)...)
		cmd.Env = append(h.env(), "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v, %s", args, err, out)
		}
	}
	for _, dir := range []string{kept, filepath.Join(h.home, ".cursor")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(kept, "mcp[1].json"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(kept, "mcp[1].json"), filepath.Join(h.home, ".cursor", "mcp.json")); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	out, err := h.try("install", "cursor", "--http")
	if err == nil || !strings.Contains(err.Error()+out, "git tracks") {
		t.Errorf("%v, %s", err, out)
	}
	wantText(t, "refused", h.cursor(), "!Bearer")
	git("rm", "-q", "--cached", "mcp[1].json")
	h.run("install", "cursor", "--http")
	wantText(t, "not tracked any more", h.cursor(), "Bearer "+h.token())
}
