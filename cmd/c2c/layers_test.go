package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the policy: what a package may import besides the standard
// library. A word covers what is below it. docs/design.md explains it.
var layers = map[string]string{
	"cmd/c2c":          "c2c/broker c2c/hooks c2c/inbox c2c/wake",
	"cmd/c2cd":         "c2c",
	"inbox/atomicfile": "golang.org/x/sys",
	"inbox/fields":     "",
	"inbox/filelock":   "c2c/inbox/atomicfile golang.org/x/sys",
	"inbox":            "c2c/inbox",
	"broker/client":    "",
	"broker":           "c2c/inbox c2c/broker/client c2c/wake golang.org/x/sys",
	"broker/mcpserver": "c2c/broker c2c/broker/client c2c/inbox c2c/wake github.com/mark3labs/mcp-go",
	"wake":             "c2c/inbox",
	"wake/watch":       "c2c/inbox c2c/wake github.com/fsnotify golang.org/x/sys",
	"wake/claude":      "c2c/inbox c2c/wake",
	"wake/codex":       "c2c/inbox c2c/wake github.com/coder/websocket",
	"wake/screen":      "github.com/charmbracelet/x/ansi",
	"wake/mux":         "c2c/wake golang.org/x/sys",
	"wake/pty":         "c2c/wake github.com/creack/pty golang.org/x/sys golang.org/x/term",
	"wake/waketest":    "c2c/inbox c2c/wake",
	"hooks":            "c2c/inbox",
	"install":          "c2c/broker/client c2c/inbox/atomicfile github.com/tailscale/hujson github.com/creachadair/tomledit github.com/rogpeppe/go-internal/diff golang.org/x/sys",
}

// banned keeps c2c's start-up short: each of these costs at every hook.
var banned = []string{"net/http", "text/template", "html/template", "regexp", "github.com"}

func TestLayers(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(rel))
		allowed, known := layers[pkg]
		if !known && !strings.HasPrefix(pkg, "e2e") {
			t.Errorf("package %s has no line in layers", pkg)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			if known && !standard(name) && !slices.ContainsFunc(strings.Fields(allowed), below(name)) {
				t.Errorf("%s imports %s", rel, name)
			}
			if pkg == "cmd/c2c" && slices.ContainsFunc(banned, func(b string) bool { return below(name)(b) }) {
				t.Errorf("%s imports %s, which slows every hook", rel, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first != "c2c" && !strings.Contains(first, ".")
}

func below(name string) func(string) bool {
	return func(word string) bool { return name == word || strings.HasPrefix(name, word+"/") }
}
