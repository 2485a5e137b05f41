package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/cmd/cli"
)

// unread are the pages that are not for users, or that are made from what other tests run.
var unread = []string{"adding-a-client.md", "clients.md", "design.md"}

// guide lists the README and the pages for users.
func guide(t *testing.T) (pages []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	return append(slices.DeleteFunc(found, func(page string) bool { return slices.Contains(unread, filepath.Base(page)) }), filepath.Join(root, "README.md"))
}

// block is an example of a page: sh is run, and a text behind it is what it prints.
type block struct {
	line       int
	kind, text string
	notRun     string // why
}

var notRun = regexp.MustCompile(`^<!-- not run: (.+) -->$`)

func blocks(t *testing.T, page string) (all []block) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	why, section := "", ""
	for n, line := range strings.Split(string(data), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open != nil:
			all, open, why = append(all, *open), nil, ""
		case fence:
			open = &block{line: n + 1, kind: kind, notRun: why}
		case open != nil:
			open.text += line + "\n"
		case notRun.MatchString(line):
			why = notRun.FindStringSubmatch(line)[1]
		case strings.HasPrefix(line, "## "):
			section = line
		case strings.HasPrefix(line, "    c2c ") && section != "": // before the first section TestTheFirstMessageByTheREADME runs it
			t.Errorf("%s:%d: a command that no test runs: put it between ```sh and ```", page, n+1)
		}
	}
	if open != nil {
		t.Errorf("%s:%d: it has no end", page, open.line)
	}
	return all
}

// TestTheCommandsOfTheDocsWork runs what the pages show, page by page, as dana, who is in a project
// with amber and birch.
func TestTheCommandsOfTheDocsWork(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	for _, page := range guide(t) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			project := filepath.Join(home, "my-project")
			if err := os.Mkdir(project, 0o755); err != nil {
				t.Fatal(err)
			}
			shell := func(script string) (string, error) {
				cmd := exec.Command("sh", "-euc", script)
				cmd.Dir = project
				cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "C2C_MCP_SESSION_ID=dana", "USER=dana"}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			if out, err := shell("for name in dana amber birch; do c2c register --session-id $name $name; done"); err != nil {
				t.Fatal(err, out)
			}
			printed := ""
			for _, b := range blocks(t, page) {
				switch {
				case b.notRun != "" || b.kind == "json":
				case b.kind == "text":
					if got, want := steady(printed), steady(b.text); got != want {
						t.Errorf("%s:%d shows\n%sand it prints\n%s", page, b.line, want, got)
					}
				case b.kind == "sh":
					out, err := shell(b.text)
					if printed = out; err != nil {
						t.Errorf("%s:%d: %v\n%s\n%s", page, b.line, err, b.text, out)
					}
				default:
					t.Errorf("%s:%d: a block is sh, text or json", page, b.line)
				}
			}
		})
	}
}

var unsteady = regexp.MustCompile(`\b[0-9a-f]{8}\b|\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b`)

// steady is a text without what is another at each run: ids and times.
func steady(text string) string { return unsteady.ReplaceAllString(text, "…") }

var typed = regexp.MustCompile("`c2c ([a-z-]+)([^`]*)`")
var option = regexp.MustCompile(`--[a-z-]+`)

// What stands within a sentence is a verb that there is, with options that it has.
func TestTheDocsNameVerbsAndOptionsThatExist(t *testing.T) {
	t.Parallel()
	inside, err := filepath.Glob(filepath.Join("..", "..", "docs", "inside", "*.md"))
	if err != nil || len(inside) == 0 {
		t.Fatal(inside, err)
	}
	for _, page := range append(append(guide(t), inside...), filepath.Join("..", "..", "docs", "design.md"), filepath.Join("..", "..", "CONTRIBUTING.md"), filepath.Join("..", "..", "SECURITY.md")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typed.FindAllSubmatch(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")), -1) {
			verb, known := cli.Find(string(m[1]))
			for _, own := range verb.Verbs {
				if strings.HasPrefix(string(m[1])+string(m[2])+" ", own.Name+" ") {
					verb = own
				}
			}
			if !known && string(m[1]) != "help" {
				t.Errorf("%s: there is no verb in %s", page, m[0])
			}
			words, _, _ := strings.Cut(string(m[2]), " -- ")
			for _, name := range option.FindAllString(words, -1) {
				if known && !cli.NewFlags(verb).Has(name[2:]) && name != "--help" && name != "--from" {
					t.Errorf("%s: %s has no option %s", page, m[0], name)
				}
			}
		}
	}
}
