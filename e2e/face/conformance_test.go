package face

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// excused are single checks of the suite that need not hold, by the reason. The name of a scenario
// excuses only that it has shown nothing. Each must be needed: else it is no excuse any more.
var excused = map[string]string{
	"needs the tools of the suite's example": `sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400
		sep-2575-http-server-no-independent-requests-on-stream tools-call-simple-text tools-call-image
		tools-call-audio tools-call-embedded-resource tools-call-mixed-content tools-call-error
		tools-call-with-progress tools-call-sampling tools-call-elicitation json-schema-2020-12-tool-found
		elicitation-sep1034-general elicitation-sep1330-general sep-2322-elicitation-incomplete
		sep-2322-sampling-incomplete sep-2322-list-roots-incomplete sep-2322-request-state-incomplete
		sep-2322-multiple-inputs-incomplete sep-2322-multi-round-r1 sep-2322-result-type-included
		sep-2322-reject-tampered-state sep-2322-respect-client-capabilities`,
	"c2c does not say that it has logging":       `sep-2575-server-no-log-without-loglevel logging-set-level tools-call-with-logging`,
	"c2c does not say that it has completions":   `completion-complete`,
	"needs the resources of the suite's example": `resources-read-text resources-read-binary resources-templates-read`,
	"needs the prompts of the suite's example": `prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
		sep-2322-non-tool-incomplete`,
	"no tool of c2c asks for a header": `sep-2243-server-no-xmcp-tool sep-2243-server-decode-base64 sep-2243-server-validate-param-match
		sep-2243-server-reject-invalid-param-chars sep-2243-server-reject-param-mismatch`,
	"c2c does not say that it has tasks": `tasks-sync-tool-call sep-2663-result-type-task-on-create sep-2663-tasks-get-status-working
		sep-2663-tasks-get-status-completed sep-2663-tool-error-uses-completed-status
		sep-2663-tasks-get-status-failed sep-2663-cancel-ack-empty-result
		tasks-cancel-terminal-idempotent-ack tasks-extension-advertised sep-2663-tasks-methods-non-declaring
		sep-2663-server-rejects-undeclared-client tasks-per-request-meta-opt-in tasks-wire-field-renames
		tasks-no-early-ttl-expiry tasks-no-related-task-meta-on-inlined-result
		tasks-request-state-removal-setup sep-2663-tasks-get-status-input-required
		tasks-mrtr-tasks-update-resumes tasks-mrtr-partial-fulfillment
		tasks-headers-tolerate-mcp-method-on-tools-call sep-2663-routing-headers-accepted-on-tasks-get
		sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get tasks-server-directed-creation-no-hint
		sep-2663-legacy-task-param-ignored tasks-immediate-result-shortcut
		tasks-result-type-complete-on-non-task-responses sep-2663-durable-create-strong-consistency
		sep-2663-tasks-get-invalid-task-id-32602 sep-2663-server-returns-missing-capability-when-required
		sep-2663-mrtr-synchronous-before-task-creation`,
	"the suite makes none of its checks, or only recommends them": `server-sse-polling sep-2640-skills-directory sep-2640-skills-enumeration
		sep-2640-skills-manifest tasks-status-notifications input-required-result-missing-input-response
		input-required-result-ignore-extra-params`,
}

// The official suite has its own client, and asks for what the specification says a server must do.
// Every check of every scenario holds, or it is excused.
func TestConformance(t *testing.T) {
	url := start(t).open()
	list, err := node(t, suite(t), "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours, _, _ := strings.Cut(string(list), "Client scenarios")
	all := regexp.MustCompile(`(?m)^  - (\S+) \[`).FindAllStringSubmatch(ours, -1)
	if len(all) < 50 {
		t.Fatalf("the suite lists %s", list)
	}
	excuses := map[string]bool{} // by the id of a check: whether it was needed
	for _, checks := range excused {
		for _, id := range strings.Fields(checks) {
			excuses[id] = false
		}
	}
	for _, one := range all {
		t.Run(one[1], func(t *testing.T) {
			said, checks, err := scenario(t, url, one[1])
			left := faults(one[1], checks)
			if err != nil && len(left) == 0 {
				t.Errorf("%v\n%s", err, said)
			}
			for _, c := range left {
				if _, ok := excuses[c.ID]; ok {
					excuses[c.ID] = true
				} else {
					t.Errorf("%s is %s: %s", c.ID, c.Status, c.Message)
				}
			}
		})
	}
	for id, needed := range excuses {
		if !needed {
			t.Errorf("%s is excused, but holds or does not occur", id)
		}
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

// everywhere is a check of every scenario: whatever the server has answered has the form of an
// answer.
const everywhere = "wire-schema-valid"

// faults are the checks of a scenario that do not hold. If none of its own was made, or only
// recommended, that is a fault, too.
func faults(scenario string, checks []check) (bad []check) {
	shown := false
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			shown = shown || c.ID != everywhere
		case "WARNING", "INFO", "SKIPPED":
		default:
			bad = append(bad, c)
		}
	}
	if !shown && len(bad) == 0 {
		bad = []check{{ID: scenario, Status: "nothing shown"}}
	}
	return bad
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

// A scenario all of whose own checks were skipped has not passed.
func TestTheFaultsOfAScenario(t *testing.T) {
	wire := check{ID: everywhere, Status: "SUCCESS"}
	for _, c := range []struct {
		checks []check
		want   int
	}{
		{[]check{{Status: "SKIPPED"}, wire}, 1},
		{[]check{{Status: "WARNING"}, wire}, 1},
		{[]check{{Status: "SUCCESS"}, {Status: "WARNING"}, {Status: "INFO"}, {Status: "SKIPPED"}, wire}, 0},
		{[]check{{Status: "SUCCESS"}, {Status: "FAILURE"}, {Status: "another"}, wire}, 2},
		{nil, 1},
	} {
		if got := faults("x", c.checks); len(got) != c.want {
			t.Errorf("%+v: %+v", c.checks, got)
		}
	}
}
