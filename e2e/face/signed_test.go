package face

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Services sign with their own libraries, and GitHub sends what it sends: a sender of each is let
// in, once for each request.
func TestServicesSignWithTheirOwnLibraries(t *testing.T) {
	d := start(t)
	d.c2c("register", "birch", "--session-id", "s-birch")
	type sender struct {
		Secret string `json:"secret"`
		URL    string `json:"url"`
	}
	allow := func(name, scheme string) (s sender) {
		out := typed(t, d.home, "senders", "allow", name, "--to", "birch", scheme, "--json")
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v, %s", err, out)
		}
		return s
	}
	to, err := json.Marshal(map[string]sender{"github": allow("hub", "--github"), "standard": allow("pay", "--standard")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(t, "sign.mjs", string(to))
	cmd.Dir = script(t, "sign.mjs", map[string]string{
		"@octokit/webhooks-methods":  tool(t, "@octokit+webhooks-methods@"),
		"@octokit/webhooks-examples": tool(t, "@octokit+webhooks-examples@"),
		"standardwebhooks":           tool(t, "standardwebhooks@"),
	})
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	var said struct {
		Sent   []string
		Status map[string]int
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	want := map[string]int{"ping": 200, "push": 200, "pull_request": 200, "workflow_run": 200, "form": 200, "first": 200, "again": 200, "changed": 401,
		"standard": 200, "standard again": 200, "standard changed": 401, "standard old": 401}
	if !maps.Equal(said.Status, want) {
		t.Errorf("answers %v, want %v", said.Status, want)
	}
	mail := d.c2c("poll-inbox", "--session-id", "s-birch")
	for _, words := range append(said.Sent, `from="external-hub"`, `from="external-pay"`, "12 €", "pull_request", `"action":"opened"`) {
		if !strings.Contains(mail, words) {
			t.Errorf("%q is not in the mail", words)
		}
	}
	if strings.Contains(mail, "13 €") {
		t.Error("what was changed on its way is mail")
	}
}

// script is a folder that has a program of testdata and the modules it needs, each with the folder
// where it is.
func script(t *testing.T, name string, modules map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir() // modules are looked for beside the program
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for module, in := range modules {
		path := filepath.Join(dir, "node_modules", module)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(in, module), path); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
