package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"c2c/broker"
)

// Each promise of docs/inside/promises.md names the tests that hold it.
func TestTheDocsNameTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(data, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	inside, err := filepath.Glob(filepath.Join(root, "docs", "inside", "*.md"))
	if err != nil || len(inside) == 0 {
		t.Fatal(inside, err)
	}
	for _, page := range append(append(pages, inside...), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "README.md")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllSubmatch(data, -1) {
			if !tests[string(m[1])] {
				t.Errorf("%s names %s, and there is no such test", page, m[1])
			}
		}
	}
}

func TestTheChangelogBeginsWithTheVersion(t *testing.T) {
	changes, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Changes\n\n## " + broker.Version + "\n"; !strings.HasPrefix(string(changes), want) {
		t.Errorf("it begins with %.40q, want %q", changes, want)
	}
}
