package face

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/broker"
)

const pageHead = `# The conformance suite of MCP

` + "`make conformance`" + ` ran every server scenario of %s on c2c %s, over HTTP at /mcp. Those that say **must pass** run in CI with
` + "`make e2e`" + `. A scenario does not apply when it asks for what a server need not have: the tools, prompts and resources of the suite's own
example, or a part of the protocol that c2c does not say it has. Where one passes and a reason stands beside it, that is what the
specification recommends and c2c does not do.

| scenario | protocol | result | why |
|---|---|---|---|
`

// notOurs says why a scenario does not apply.
var notOurs = []struct{ names, why string }{
	{"tools-call-with-logging|logging-set-level", "c2c does not say that it has logging"},
	{"completion-complete", "c2c does not say that it has completions"},
	{"tools-call-.*|elicitation-.*|json-schema-2020-12|input-required-result-.*", "needs the tools and prompts of the suite's example"},
	{"resources-read-.*|resources-templates-read", "needs the resources of the suite's example"},
	{"prompts-get-.*", "needs the prompts of the suite's example"},
	{"server-sse-polling", "needs the tools of the suite's example"},
	{"tasks-.*", "c2c does not say that it has tasks"},
	{"http-custom-header-server-validation", "no tool of c2c asks for a header"},
	{"sep-2640-skills-.*", "c2c does not say that it has skills"},
}

// known are scenarios that may fail, and why.
var known = map[string]string{
	"server-stateless": "needs the tools of the suite's example",
}

func whyNot(name string) string {
	for _, n := range notOurs {
		if regexp.MustCompile("^(" + n.names + ")$").MatchString(name) {
			return n.why
		}
	}
	return ""
}

// wholeSuite tries all scenarios, and writes the page.
func (d *daemon) wholeSuite(url string) {
	d.t.Helper()
	list, err := node(d.t, suite(d.t), "list").Output()
	if err != nil {
		d.t.Fatal(err)
	}
	ours, _, _ := strings.Cut(string(list), "Client scenarios")
	all := regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`).FindAllStringSubmatch(ours, -1)
	if len(all) < len(scenarios) {
		d.t.Fatalf("the suite lists %s", list)
	}
	dir := strings.TrimSuffix(tool(d.t, "@modelcontextprotocol+conformance@"), string(filepath.Separator)+"node_modules")
	text := fmt.Sprintf(pageHead, strings.ReplaceAll(filepath.Base(dir), "+", "/"), broker.Version)
	for _, one := range all {
		d.t.Run(one[1], func(t *testing.T) { text += row(t, url, one[1], one[2]) })
	}
	if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// verdict is what became of the checks of a scenario.
type verdict struct {
	good        int      // that were made and hold
	about       int      // of these, those that are of the scenario itself
	bad, should []string // what a server must, and what it should do besides
}

// everywhere is a check of every scenario: whatever the server has answered has the form of an answer.
const everywhere = "wire-schema-valid"

func judge(checks []check) (v verdict) {
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			v.good++
			if c.ID != everywhere {
				v.about++
			}
		case "WARNING":
			v.should = append(v.should, c.ID+": "+c.Message)
		case "INFO", "SKIPPED":
		default:
			v.bad = append(v.bad, c.ID+": "+c.Message)
		}
	}
	return v
}

// row is a line of the table.
func row(t *testing.T, url, name, protocol string) string {
	said, checks, err := scenario(t, url, name)
	v := judge(checks)
	result, why := "", ""
	switch ok := err == nil && v.about > 0 && len(v.bad) == 0; {
	case ok:
		result, why = fmt.Sprintf("passes, checks: %d", v.good), strings.Join(v.should, "; ")
		if slices.Contains(scenarios, name) {
			result = "**must pass**, " + result
		}
	case whyNot(name) != "":
		result, why = "does not apply", whyNot(name)
	default:
		result, why = "**fails**", strings.Join(v.bad, "; ")
		if known[name] != "" {
			why = known[name]
		} else {
			t.Errorf("%v: %q\n%s", err, v.bad, said)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, strings.ReplaceAll(protocol, ",", ", "), result, strings.NewReplacer("|", "\\|", "\n", " ").Replace(why))
}

// A scenario all of whose own checks were skipped has not passed.
func TestTheVerdictOfChecks(t *testing.T) {
	wire := check{ID: everywhere, Status: "SUCCESS"}
	for _, c := range []struct {
		checks      []check
		good, about int
		bad, should int
	}{
		{[]check{{Status: "SKIPPED"}, wire}, 1, 0, 0, 0},
		{[]check{{Status: "SUCCESS"}, {Status: "WARNING"}, {Status: "INFO"}, wire}, 2, 1, 0, 1},
		{[]check{{Status: "SUCCESS"}, {Status: "FAILURE"}, {Status: "another"}, wire}, 2, 1, 2, 0},
		{nil, 0, 0, 0, 0},
	} {
		if v := judge(c.checks); v.good != c.good || v.about != c.about || len(v.bad) != c.bad || len(v.should) != c.should {
			t.Errorf("%+v: %+v", c.checks, v)
		}
	}
}
