package face

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// scenarios are those of the suite that any server must pass, whatever its tools are. The others need tools that c2c has not.
var scenarios = []string{
	"server-initialize", "server-session-lifecycle", "ping", "tools-list", "dns-rebinding-protection", "server-sse-multiple-streams",
}

var page = flag.String("page", "", "try the whole suite, and write what became of it into this file (make conformance)")

// The official suite has its own client, and asks for what the specification says a server must do.
func TestConformance(t *testing.T) {
	d := start(t)
	url := d.open()
	if *page != "" {
		d.wholeSuite(url)
		return
	}
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			text, checks, err := scenario(t, url, name)
			if err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			if judge(checks).about == 0 {
				t.Errorf("nothing was checked:\n%s", text)
			}
			for _, c := range checks {
				if !c.good() {
					t.Errorf("%s is %s: %s\n%s", c.ID, c.Status, c.Message, text)
				}
			}
		})
	}
}

// suite is the program of the suite.
func suite(t *testing.T) string {
	t.Helper()
	return filepath.Join(tool(t, "@modelcontextprotocol+conformance@"), "@modelcontextprotocol", "conformance", "dist", "index.js")
}

// scenario runs one of the suite, and gives what it says and what it has checked.
func scenario(t *testing.T, url, name string) (text []byte, checks []check, err error) {
	t.Helper()
	out := t.TempDir()
	text, err = node(t, suite(t), "server", "--url", url, "--scenario", name, "--output-dir", out).CombinedOutput()
	return text, results(t, out), err
}

type check struct {
	ID, Status string
	Message    string `json:"errorMessage"`
}

func (c check) good() bool { return c.Status == "SUCCESS" || c.Status == "INFO" }

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
