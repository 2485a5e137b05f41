package face

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// scenarios are those of the suite that any server must pass, whatever its tools are. The others need tools that c2c has not.
var scenarios = []string{
	"server-initialize", "server-session-lifecycle", "ping", "tools-list", "dns-rebinding-protection", "server-sse-multiple-streams",
}

// The official suite has its own client, and asks for what the specification says a server must do.
func TestConformance(t *testing.T) {
	d := start(t)
	url := d.open()
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			suite := filepath.Join(tool(t, "@modelcontextprotocol+conformance@"), "@modelcontextprotocol", "conformance", "dist", "index.js")
			text, err := node(t, suite, "server", "--url", url, "--scenario", name, "--output-dir", out).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			checks := results(t, out)
			if len(checks) == 0 {
				t.Errorf("nothing was checked:\n%s", text)
			}
			for _, c := range checks {
				if c.Status != "SUCCESS" && c.Status != "INFO" {
					t.Errorf("%s is %s: %s\n%s", c.ID, c.Status, c.Message, text)
				}
			}
		})
	}
}

type check struct {
	ID, Status string
	Message    string `json:"errorMessage"`
}

func results(t *testing.T, dir string) (all []check) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []check
		if err := json.Unmarshal(data, &some); err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}
