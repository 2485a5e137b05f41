package face

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Most clients are made with this SDK: it decides what a stream, a session and an answer must look like.
func TestTheSDKOfTypeScript(t *testing.T) {
	for version, folder := range map[string]string{"1": "@modelcontextprotocol+sdk@", "2": "@modelcontextprotocol+client@"} {
		t.Run(version, func(t *testing.T) { testSDK(t, version, tool(t, folder)) })
	}
}

func testSDK(t *testing.T, version, modules string) {
	d := start(t)
	script, err := os.ReadFile(filepath.Join("testdata", "drive.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // its modules are looked for beside it
	if err := os.WriteFile(filepath.Join(dir, "drive.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := node(t, "drive.mjs", d.url, d.token, d.home, version)
	cmd.Dir = dir
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, wrong.String())
	}
	var said struct {
		Tools, Prompts              int
		Bell, Inbox, Polled, Answer string
		Progress                    bool
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if said.Tools < 10 || said.Prompts != 1 || said.Bell != "notifications/resources/updated c2c://inbox string" ||
		said.Inbox != `{"waiting":1,"from":["amber"]}` || said.Polled != "hello" || said.Answer != "forty-two" || !said.Progress {
		t.Errorf("%+v", said)
	}
}
