package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"c2c/cmd/cli"
)

var update = flag.Bool("update", false, "write docs/commands")

// docsPages returns the pages of docs/commands by file name.
func docsPages() map[string][]byte {
	const made = "<!-- made by `make docs` from the table in cmd/cli -->\n"
	all := map[string][]byte{"README.md": []byte(made + "# The verbs of c2c\n\nMail between coding agents.\n\n" + overviewPage(inDocs, "[%s](%[1]s.md)"))}
	for _, v := range cli.Verbs() {
		all[v.Name+".md"] = []byte(made + "# c2c " + v.Name + "\n\n" + indented(v.Usage()) + "\n" + pageOf(v, inDocs))
	}
	return all
}

func inDocs(title string) string { return "## " + title + "\n\n" }

// make docs writes them.
func TestTheCommandPagesAreThoseOfTheTable(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "commands")
	pages := docsPages()
	if *update {
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if pages[f.Name()] == nil {
			t.Errorf("%s/%s is the page of no verb", dir, f.Name())
		}
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what the table says: run make docs (%v)", dir, name, err)
		}
	}
}
