package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"c2c/cmd/cli"
	"c2c/e2e/need"
)

// They are well formed, and show what the help shows.
func TestTheManPagesCanBeRead(t *testing.T) {
	need.Tools(t, "mandoc")
	dir := t.TempDir()
	for name, text := range manPages() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{filepath.Join(dir, "c2c.1")}
	var want []string
	for _, v := range cli.Verbs() {
		files = append(files, filepath.Join(dir, "c2c-"+v.Name+".1"))
		want = append(want, v.Usage(), v.ExitStatus())
		want = append(want, v.Shows()...)
		for _, o := range v.Options {
			want = append(want, o.Usage()+": "+o.Says())
		}
	}
	lint, _ := exec.Command("mandoc", append([]string{"-T", "lint", "-W", "warning"}, files...)...).CombinedOutput()
	for line := range strings.Lines(string(lint)) {
		if !strings.Contains(line, "missing date") { // a date would change the page with each build
			t.Error(line)
		}
	}
	shown, err := exec.Command("mandoc", append([]string{"-T", "ascii"}, files...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	// A letter that is struck twice is bold; the lines break elsewhere.
	text := strings.Join(strings.Fields(regexp.MustCompile(".\b").ReplaceAllString(string(shown), "")), " ")
	for _, words := range want {
		if words = strings.Join(strings.Fields(words), " "); !strings.Contains(text, words) {
			t.Errorf("no page shows %q", words)
		}
	}
}
