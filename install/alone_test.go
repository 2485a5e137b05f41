package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A session of its own gets the same parts as an install, in files of c2c, and an uninstall removes
// them.
func TestASessionAloneGetsTheSamePartsInFilesOfC2C(t *testing.T) {
	home := t.TempDir()
	o := Options{Home: home, Project: filepath.Join(home, "src"), Binary: "/opt/c2c", HookScript: []byte("#!/bin/sh\n"),
		StateDir: filepath.Join(home, "state", "install"), Getenv: func(name string) string {
			return map[string]string{"OPENCODE_CONFIG_CONTENT": `{"theme":"dark","plugin":["./mine.ts"]}`}[name]
		}}
	for client, want := range map[string][]string{
		Claude:   {"--mcp-config", "--settings"},
		Qwen:     {"QWEN_CODE_SYSTEM_DEFAULTS_PATH="},
		Copilot:  {"--plugin-dir", "--additional-mcp-config @", "COPILOT_CLI_ENABLED_FEATURE_FLAGS=EXTENSIONS"},
		OpenCode: {"OPENCODE_CONFIG_CONTENT=", `"theme":"dark"`, "./mine.ts", `"/opt/c2c"`},
	} {
		for range 2 { // the second time the files are there
			how, err := SetUpAlone(client, o, []string{"--continue"})
			if err != nil {
				t.Fatalf("%s: %v", client, err)
			}
			said := strings.Join(append(how.Args, how.Env...), " ")
			for _, word := range want {
				if !strings.Contains(said, word) {
					t.Errorf("%s is started with %s", client, said)
				}
			}
			for _, f := range how.files {
				if text, err := os.ReadFile(f.path); err != nil || !strings.HasPrefix(f.path, o.StateDir) || len(text) == 0 {
					t.Errorf("%s: %s: %v", client, f.path, err)
				}
			}
		}
	}
	if _, err := SetUpAlone(Claude, o, []string{"--settings", "mine.json"}); err == nil || !strings.Contains(err.Error(), "leave it out") {
		t.Errorf("a second --settings would drop the first: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(home, "off"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "off", "settings.json"), []byte(`{"enabledFeatureFlags": {"EXTENSIONS": false}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	off := o
	off.Getenv = func(name string) string { return map[string]string{"COPILOT_HOME": filepath.Join(home, "off")}[name] }
	if how, err := SetUpAlone(Copilot, off, nil); err != nil || len(how.Env) > 0 {
		t.Errorf("extensions that a person has turned off: %q, %v", how.Env, err)
	}
	if names, _ := filepath.Glob(filepath.Join(home, ".*")); len(names) > 0 {
		t.Errorf("it has written %q", names)
	}
	if err := RemoveAlone(o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(o.StateDir)); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", filepath.Dir(o.StateDir), err)
	}
}

// A server c2c that somebody has committed for another machine does not count as an installed c2c.
func TestAProjectsServerOfAnotherMachineIsNoInstall(t *testing.T) {
	home := t.TempDir()
	o := Options{Home: home, Project: filepath.Join(home, "src"), Binary: "/opt/c2c", HookScript: []byte("#!/bin/sh\n"),
		StateDir: filepath.Join(home, "state"), Getenv: func(string) string { return "" }}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const server = `{"mcpServers": {"c2c": {"type": "stdio", "command": "/home/ada/bin/c2c", "args": ["mcp"], "env": {}}}}`
	write(filepath.Join(o.Project, ".mcp.json"), server)
	if IsInstalled(Claude, o) {
		t.Error("the file of the project counts")
	}
	write(filepath.Join(home, ".claude.json"), server)
	if !IsInstalled(Claude, o) {
		t.Error("an older place of c2c in the person's own file does not count")
	}
}
