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
example, or a part of the protocol that c2c does not say it has.

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
	{"tasks-.*", "c2c does not say that it has tasks"},
	{"http-custom-header-server-validation", "no tool of c2c asks for a header"},
}

// known are scenarios that may fail, and why.
var known = map[string]string{
	"server-stateless": "its list of versions is not that of server/discover, which leaves 2026-07-28 out: c2c answers it and does not offer it; the rest needs the tools of the suite's example",
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

// row is a line of the table.
func row(t *testing.T, url, name, protocol string) string {
	said, checks, err := scenario(t, url, name)
	good, bad := 0, []string(nil)
	for _, c := range checks {
		if c.good() {
			good++
		} else {
			bad = append(bad, c.ID+": "+c.Message)
		}
	}
	result, why := "", ""
	switch ok := err == nil && good > 0 && len(bad) == 0; {
	case ok && slices.Contains(scenarios, name):
		result = fmt.Sprintf("**must pass**, passes, checks: %d", good)
	case ok:
		result = fmt.Sprintf("passes, checks: %d", good)
	case whyNot(name) != "":
		result, why = "does not apply", whyNot(name)
	default:
		result, why = "**fails**", strings.Join(bad, "; ")
		if known[name] != "" {
			why = known[name]
		} else {
			t.Errorf("%v: %q\n%s", err, bad, said)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, strings.ReplaceAll(protocol, ",", ", "), result, strings.NewReplacer("|", "\\|", "\n", " ").Replace(why))
}
