package install

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"c2c/install/confedit"
	"c2c/internal/format"
)

const (
	tokenOne = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	tokenTwo = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
	mcpFile  = "home/.cursor/mcp.json"
)

func daemonAt(port, token string) *HTTP {
	return &HTTP{URL: "http://127.0.0.1:" + port + "/mcp", Token: token, Runs: true}
}

func (b *box) mode(name string) fs.FileMode {
	b.t.Helper()
	info, err := os.Stat(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return info.Mode().Perm()
}

func (b *box) wantServer(what string, words ...string) {
	b.t.Helper()
	got := strings.ReplaceAll(b.read(mcpFile), "\":\"", "\": \"")
	for _, word := range words {
		without, no := strings.CutPrefix(word, "!")
		if strings.Contains(got, without) == no {
			b.t.Errorf("%s: %q in\n%s", what, word, got)
		}
	}
}

func TestCursorHasTheToolsOverHTTP(t *testing.T) {
	b := newBox(t)
	b.write(mcpFile, "{\n  // mine\n  \"mcpServers\": {\"other\": {\"url\": \"https://example.com/mcp\", \"headers\": {\"Authorization\": \"Bearer theirs\"}}}\n}\n", 0o644)
	before := b.tree()
	b.o.HTTP = daemonAt("8788", tokenOne)
	shown := b.plan(Cursor).Diff(true)
	if strings.Contains(shown, tokenOne) || strings.Contains(shown, "theirs") || !strings.Contains(shown, `"Authorization": "Bearer …"`) || !strings.Contains(shown, "mode 0644 becomes 0600") {
		t.Errorf("the diff is\n%s", shown)
	}
	b.install(Cursor)
	b.wantServer("installed", `"url": "http://127.0.0.1:8788/mcp"`, `"Authorization": "Bearer `+tokenOne+`"`, `"X-C2C-Project": "${workspaceFolder}"`, "!command", "// mine", "Bearer theirs")
	if got := b.mode(mcpFile); got != 0o600 {
		t.Errorf("mode %o", got)
	}
	if got := OverHTTP(b.o); !slices.Equal(got, []string{Cursor}) {
		t.Errorf("over HTTP are %q", got)
	}

	// An update keeps it, and what its person has tuned.
	b.edit(mcpFile, `"${workspaceFolder}"`, `"${workspaceFolder}/sub", "X-Own": "1"`)
	b.o.HTTP = nil
	b.install(Cursor)
	b.wantServer("after a plain install", `"url": "http://127.0.0.1:8788/mcp"`, "!command")
	b.o.HTTP = daemonAt("9999", tokenTwo)
	b.install(Cursor)
	b.wantServer("with another daemon", `"url": "http://127.0.0.1:9999/mcp"`, "Bearer "+tokenTwo, "!"+tokenOne, `${workspaceFolder}/sub`, `"X-Own": "1"`)
	if data := b.read("home/.local/state/c2c/install/undo.json"); strings.Contains(data, tokenOne) || strings.Contains(data, tokenTwo) {
		t.Error("a token is in the undo records")
	}

	b.edit(mcpFile, `"${workspaceFolder}/sub", "X-Own": "1"`, `"${workspaceFolder}"`)
	b.o.HTTP = nil
	b.uninstall(Cursor)
	b.wantTree(before)
}

func TestWithoutADaemonCursorHasTheToolsOverStdio(t *testing.T) {
	b := newBox(t)
	before := b.tree()
	b.o.HTTP = daemonAt("8788", tokenOne)
	b.install(Cursor)
	b.o.HTTP.Runs = false
	b.install(Cursor)
	b.wantServer("the daemon does not answer", `"type": "stdio"`, `"command"`, "!url", "!"+tokenOne)
	if got := OverHTTP(b.o); got != nil {
		t.Errorf("over HTTP are %q", got)
	}
	b.o.HTTP.Runs = true
	b.install(Cursor)
	b.wantServer("it is back", `"url"`, "!command")
	b.uninstall(Cursor)
	b.wantTree(before)
}

func TestAnEntryOverHTTPIsInspected(t *testing.T) {
	b := newBox(t)
	b.o.HTTP = daemonAt("8788", tokenOne)
	b.install(Cursor)
	for _, tc := range []struct {
		what   string
		daemon *HTTP
		mode   fs.FileMode
		status format.Status
		detail string
	}{
		{"all is well", daemonAt("8788", tokenOne), 0o600, format.OK, "http://127.0.0.1:8788/mcp"},
		{"nobody knows a daemon", nil, 0o600, format.Problem, "no HTTP daemon answers: c2c serve start"},
		{"it does not answer", &HTTP{URL: "http://127.0.0.1:8788/mcp", Token: tokenOne}, 0o600, format.Problem, "no HTTP daemon answers"},
		{"another port", daemonAt("9999", tokenOne), 0o600, format.Problem, "the HTTP daemon is at http://127.0.0.1:9999/mcp"},
		{"another token", daemonAt("8788", tokenTwo), 0o600, format.Problem, "its token is not that of the HTTP daemon"},
		{"others may read", daemonAt("8788", tokenOne), 0o644, format.Problem, "other users may read the token"},
	} {
		b.o.HTTP = tc.daemon
		if err := os.Chmod(b.path(mcpFile), tc.mode); err != nil {
			t.Fatal(err)
		}
		found, err := Inspect(Cursor, b.o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f format.Finding) bool { return f.Part == partServer })
		if i < 0 || found[i].Status != tc.status || !strings.Contains(found[i].Detail, tc.detail) || strings.Contains(found[i].Detail, tokenOne) {
			t.Errorf("%s: %+v", tc.what, found)
		}
	}
}

// A person may have set up over HTTP what c2c install cannot: then it is no cure.
func TestWhatWasSetUpByHandIsNotForInstall(t *testing.T) {
	b := newBox(t)
	b.write("home/.claude.json", `{"mcpServers": {"c2c": {"type": "http", "url": "http://127.0.0.1:8788/mcp", "headers": {"Authorization": "Bearer old", "X-C2C-Project": "/p"}}}}`, 0o600)
	for _, daemon := range []*HTTP{nil, daemonAt("9999", tokenOne), daemonAt("8788", tokenOne)} {
		b.o.HTTP = daemon
		found, err := Inspect(Claude, b.o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f format.Finding) bool { return f.Part == partServer && strings.Contains(f.Detail, "HTTP daemon") })
		if i < 0 || strings.Contains(found[i].Detail, "--http") {
			t.Errorf("%+v: %+v", daemon, found)
		}
	}
}

// docs/any-client.md shows a person how to write the entry. There install has no --http, and does
// not say so.
func TestToolsOverHTTPThatAPersonHasSetUp(t *testing.T) {
	headers := `{"Authorization": "Bearer ` + tokenOne + `", "X-C2C-Project": "/p"}`
	for client, is := range map[string]struct{ file, text string }{
		Gemini:   {"home/.gemini/settings.json", `{"mcpServers": {"c2c": {"type": "http", "url": "http://127.0.0.1:8788/mcp", "headers": ` + headers + `}}}`},
		Qwen:     {"home/.qwen/settings.json", `{"mcpServers": {"c2c": {"httpUrl": "http://127.0.0.1:8788/mcp", "headers": ` + headers + `}}}`},
		OpenCode: {"home/.config/opencode/opencode.json", `{"mcp": {"c2c": {"type": "remote", "url": "http://127.0.0.1:8788/mcp", "headers": ` + headers + `}}}`},
		Codex: {"home/.codex/config.toml", "[mcp_servers.c2c]\nurl = \"http://127.0.0.1:8788/mcp\"\n" +
			`http_headers = { Authorization = "Bearer ` + tokenOne + `", X-C2C-Project = "/p" }` + "\n"},
	} {
		t.Run(client, func(t *testing.T) {
			b := newBox(t)
			b.write(is.file, is.text, 0o600)
			want := func(daemon *HTTP, status format.Status, detail string) {
				t.Helper()
				b.o.HTTP = daemon
				found, err := Inspect(client, b.o)
				if err != nil || len(found) != 1 || found[0].Part != partServer || found[0].Status != status ||
					!strings.Contains(found[0].Detail, detail) || strings.Contains(found[0].Detail, "--http") {
					t.Errorf("want %s with %q, got %+v, %v", status, detail, found, err)
				}
			}
			want(daemonAt("8788", tokenOne), format.OK, "http://127.0.0.1:8788/mcp")
			want(daemonAt("8788", tokenTwo), format.Problem, "its token is not that of the HTTP daemon; replace it by the one that c2c serve status shows")
			want(daemonAt("9999", tokenOne), format.Problem, "the HTTP daemon is at http://127.0.0.1:9999/mcp; replace it by the one")
			want(nil, format.Problem, "c2c serve start; or remove the entry from the file")
			if !slices.Equal(OverHTTP(b.o), []string{client}) || !HTTPByHand(client, b.o) {
				t.Errorf("over HTTP are %q", OverHTTP(b.o))
			}
			if says := b.plan(client).Outcome(b.o); !strings.Contains(says, "its tools stay over HTTP") || strings.Contains(says, "c2c uninstall") {
				t.Errorf("install says %q", says)
			}
			b.install(client)
			if got := b.read(is.file); !strings.Contains(got, "http://127.0.0.1:8788/mcp") {
				t.Errorf("install has not kept it:\n%s", got)
			}
			b.write(is.file, strings.Replace(is.text, tokenOne, "$C2C_TOKEN", 1), 0o600)
			b.o.HTTP = daemonAt("8788", tokenTwo)
			if found, _ := Inspect(client, b.o); len(found) == 0 || found[0].Status != format.OK {
				t.Errorf("a token in a variable: %+v", found)
			}
		})
	}
}

// A server of somebody else's stays theirs, and so does one that a person has set up by hand.
func TestOnlyOurEntryOverHTTPIsOurs(t *testing.T) {
	for entry, ours := range map[string]bool{
		`{"url": "http://127.0.0.1:8788/mcp", "headers": {"X-C2C-Project": "/p"}}`:     true,
		`{"url": "http://localhost:1/mcp", "headers": {"X-C2C-Project": ""}}`:          true,
		`{"url": "http://[::1]:8788/mcp", "headers": {"X-C2C-Project": "/p"}}`:         true,
		`{"url": "http://127.0.0.1:8788/mcp", "headers": {"Authorization": "Bearer"}}`: false,
		`{"url": "http://127.0.0.1:8788/other", "headers": {"X-C2C-Project": "/p"}}`:   false,
		`{"url": "https://127.0.0.1:8788/mcp", "headers": {"X-C2C-Project": "/p"}}`:    false,
		`{"url": "http://example.com/mcp", "headers": {"X-C2C-Project": "/p"}}`:        false,
		`{"url": ["http://127.0.0.1:8788/mcp"], "headers": {"X-C2C-Project": "/p"}}`:   false,
		`{"url": "http://127.0.0.1:8788/mcp", "headers": "X-C2C-Project"}`:             false,
		`{}`: false,
	} {
		v := confedit.Member([]byte(`{"mcpServers": {"c2c": `+entry+`}}`), serversKey, serverName)
		if got := isRemote(v); got != ours {
			t.Errorf("%s is ours: %v", entry, got)
		}
	}
	b := newBox(t)
	b.write(mcpFile, `{"mcpServers": {"c2c": {"url": "http://127.0.0.1:8788/mcp", "headers": {"X-C2C-Project": "/p"}}}}`, 0o600)
	before := b.tree()
	b.uninstall(Cursor)
	b.wantTree(before)
}
