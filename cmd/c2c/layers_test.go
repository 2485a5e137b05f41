package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"c2c/broker/client"
)

// layers is the policy: what a package may import besides the standard library, each of our packages by its
// own name, another module by its path. docs/design.md explains it.
var layers = map[string]string{
	"cmd/cli":          "broker broker/client inbox inbox/filelock",
	"cmd/rare":         "broker cmd/cli hooks inbox",
	"cmd/c2c":          "broker broker/child broker/client cmd/cli hooks inbox inbox/atomicfile inbox/filelock inbox/inotify wake golang.org/x/sys",
	"cmd/c2cd":         "broker broker/client broker/doctor broker/httpd broker/httpd/events broker/httpd/page broker/httpd/webhook broker/live broker/mcpserver broker/permission broker/procstat broker/ringer broker/senders broker/survive cmd/cli cmd/rare cmd/watch hooks inbox inbox/atomicfile inbox/fields inbox/filelock install wake wake/clients wake/daemon wake/mux wake/plugin wake/pty wake/watch wake/wire golang.org/x/sys",
	"cmd/watch":        "broker broker/live inbox github.com/gdamore/tcell/v2 github.com/rivo/uniseg",
	"inbox/atomicfile": "golang.org/x/sys",
	"inbox/fields":     "",
	"inbox/digest":     "",
	"inbox/finder":     "",
	"inbox/random":     "golang.org/x/sys",
	"inbox/inotify":    "golang.org/x/sys",
	"inbox/filelock":   "inbox/atomicfile golang.org/x/sys",
	"inbox":            "inbox/atomicfile inbox/digest inbox/fields inbox/filelock inbox/finder inbox/random",
	"broker/client":    "broker/procstat inbox/atomicfile",
	"broker/doctor":    "",
	"broker/survive":   "",
	"broker/child":     "",
	"broker/procstat":  "",

	"broker/procstat/sockets": "broker/procstat",

	"broker":                    "broker/child broker/client broker/doctor broker/procstat inbox inbox/atomicfile inbox/digest inbox/fields inbox/filelock inbox/finder wake golang.org/x/sys",
	"broker/ringer":             "broker broker/client broker/survive inbox inbox/filelock wake wake/clients wake/mux wake/plugin wake/watch",
	"broker/live":               "broker broker/survive inbox wake wake/watch",
	"broker/httpd":              "broker broker/httpd/underway broker/live broker/permission broker/procstat broker/procstat/sockets broker/survive inbox/atomicfile inbox/filelock golang.org/x/sys",
	"broker/httpd/sse":          "",
	"broker/httpd/underway":     "",
	"broker/senders":            "inbox inbox/atomicfile inbox/filelock",
	"broker/mcpserver":          "broker broker/client broker/httpd/sse broker/httpd/underway broker/permission broker/procstat broker/survive inbox inbox/atomicfile inbox/filelock wake wake/watch golang.org/x/sys github.com/mark3labs/mcp-go",
	"broker/mcpserver/noschema": "",
	"wake":                      "inbox",
	"wake/watch":                "inbox inbox/inotify wake github.com/fsnotify/fsnotify",
	"wake/claude":               "broker/client hooks inbox inbox/atomicfile wake wake/socket wake/watch",
	"wake/socket":               "wake",
	"wake/plugin":               "inbox wake",
	"wake/clients":              "wake wake/claude wake/codex wake/kimi wake/qwen",
	"wake/daemon":               "inbox/atomicfile inbox/filelock wake/watch",
	"wake/codex":                "broker/client broker/procstat hooks inbox wake wake/socket github.com/coder/websocket golang.org/x/sys",
	"wake/kimi":                 "broker/client inbox/atomicfile wake wake/socket",
	"wake/qwen":                 "broker/client broker/procstat hooks inbox inbox/atomicfile wake wake/socket",
	"wake/screen":               "inbox wake github.com/charmbracelet/x/ansi",
	"wake/mux":                  "broker/procstat wake wake/screen wake/socket golang.org/x/sys",
	"wake/pty":                  "inbox wake wake/screen github.com/creack/pty golang.org/x/sys golang.org/x/term",
	"wake/wire":                 "inbox wake",
	"hooks":                     "broker/client inbox inbox/atomicfile",
	"install":                   "broker/client broker/doctor inbox/atomicfile github.com/tailscale/hujson github.com/creachadair/tomledit github.com/rogpeppe/go-internal/diff",

	// They stand in for what mcp-go links of others and we do not use, as noschema does.
	"broker/mcpserver/nocast":              "",
	"broker/mcpserver/noderive/jsonschema": "",
	"broker/mcpserver/notemplate":          "",

	"broker/permission":    "inbox inbox/atomicfile inbox/filelock",
	"broker/httpd/webhook": "broker broker/httpd broker/permission broker/senders inbox inbox/atomicfile inbox/fields",

	"broker/httpd/page": "broker broker/httpd broker/httpd/sse broker/live broker/permission broker/survive inbox inbox/atomicfile wake/watch",

	"broker/httpd/events": "broker broker/httpd broker/httpd/sse broker/live broker/permission broker/survive inbox wake/watch",
}

// adapters know one client or one terminal each, and nothing of each other.
var adapters = []string{"wake/claude", "wake/codex", "wake/kimi", "wake/mux", "wake/plugin", "wake/pty", "wake/qwen", "wake/wire"}

// slow is what c2c must not link, however far away it is imported: it costs at every hook.
var slow = []string{"net", "net/netip", "net/http", "text/template", "html/template", "regexp", "go/ast", "encoding/xml", "encoding/gob",
	"crypto/rand", "crypto/sha256", "log/slog", "os/exec", "flag", "text/tabwriter"}

// linked are the modules that c2c may link; several packages may import them.
var linked = []string{"golang.org/x/sys"}

// source is one file of the product.
type source struct {
	path, pkg string
	file      *ast.File
	fset      *token.FileSet
	imports   []string
}

// product parses every file that ends up in a program, for every system.
func product(t *testing.T) (all []source) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || strings.HasPrefix(rel, "e2e"+string(filepath.Separator)) {
			return err
		}
		s := source{path: filepath.ToSlash(rel), pkg: filepath.ToSlash(filepath.Dir(rel)), fset: token.NewFileSet()}
		if s.file, err = parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution); err != nil {
			return err
		}
		for _, imp := range s.file.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			s.imports = append(s.imports, name)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLayers(t *testing.T) {
	importers := map[string]map[string]bool{}
	for _, s := range product(t) {
		words, known := layers[s.pkg]
		if !known {
			t.Errorf("package %s has no line in layers", s.pkg)
		}
		for _, name := range s.imports {
			allowed := standard(name)
			for _, word := range strings.Fields(words) {
				allowed = allowed || name == "c2c/"+word || module(word) && below(name, word)
				if module(word) && below(name, word) {
					if importers[word] == nil {
						importers[word] = map[string]bool{}
					}
					importers[word][s.pkg] = true
				}
			}
			if !allowed {
				t.Errorf("%s imports %s", s.path, name)
			}
		}
	}
	for name, by := range importers {
		if len(by) > 1 && !slices.Contains(linked, name) {
			t.Errorf("%s is imported by %q; one package is to know it", name, slices.Sorted(maps.Keys(by)))
		}
	}
	for _, one := range adapters {
		for _, other := range adapters {
			if slices.Contains(strings.Fields(layers[one]), other) {
				t.Errorf("%s may import %s: ways to wake know nothing of each other", one, other)
			}
		}
	}
}

// What c2c links is what its packages import and what those import.
func TestC2CLinksNothingSlow(t *testing.T) {
	files := map[string][]source{}
	for _, s := range product(t) {
		files[s.pkg] = append(files[s.pkg], s)
	}
	seen := map[string]bool{}
	var visit func(pkg string)
	visit = func(pkg string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		if strings.HasPrefix(pkg, "wake/") {
			t.Errorf("c2c links %s; of waking it may know the policy alone", pkg)
		}
		for _, s := range files[pkg] {
			for _, name := range s.imports {
				if ours, ok := strings.CutPrefix(name, "c2c/"); ok {
					visit(ours)
					continue
				}
				foreign := !standard(name) && !slices.ContainsFunc(linked, func(m string) bool { return below(name, m) })
				if foreign || slices.Contains(slow, name) {
					t.Errorf("c2c links %s through %s, which slows every hook", name, s.path)
				}
			}
		}
	}
	visit("cmd/c2c")
	if !seen["inbox/atomicfile"] {
		t.Error("what c2c links was not found")
	}
}

func standard(name string) bool { return !module(name) && !below(name, "c2c") }

// module reports whether a path is that of another module: its first part is a host.
func module(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

func below(name, path string) bool { return name == path || strings.HasPrefix(name, path+"/") }

// clientLayers have a file for each client, or a folder.
var clientLayers = []string{"broker/client", "hooks", "install", "wake", "wake/screen"}

// docs/adding-a-client.md: what is known of a client stands in its own files. Another file may name it once,
// in the line that registers it.
func TestClientsAreNamedInTheirOwnFilesOnly(t *testing.T) {
	for _, s := range product(t) {
		for _, name := range client.Names() {
			if ownFile(s, name) {
				continue
			}
			for _, what := range mentions(s.fset, s.file, name) {
				t.Errorf("%s: %s stands outside of the files of %s", s.path, what, name)
			}
		}
	}
}

func ownFile(s source, name string) bool {
	stem, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(s.path), ".go"), "_")
	return stem == name && slices.Contains(clientLayers, s.pkg) || s.pkg == "wake/"+name
}

// ofLibraries are names of a library for terminals, which have a cursor.
var ofLibraries = []string{"ShowCursor", "HideCursor"}

// mentions lists where a file names a client: in text, or in code but for one line of a list. Some clients
// are called like a thing: a terminal has a cursor. So in text the name counts as the first word, in a path
// or behind an option, and with a capital letter. A lower-case word inside of a sentence does not.
func mentions(fset *token.FileSet, file *ast.File, name string) (found []string) {
	large := "(?:" + strings.ToUpper(name[:1]) + name[1:] + "|" + strings.ToUpper(name) + ")"
	inText := regexp.MustCompile(`(?:^|[-/.@=:~]|-\w+ )` + name + `(?:\W|$)|\b` + name + `[-/=@:]\w|(?:^|[\W_])` + large + `(?:[\W_]|$)`)
	inCode := regexp.MustCompile(`^` + name + `(?:[A-Z_\d]|$)|` + large + `(?:[A-Z_\d]|$)`)
	lines, list := map[int]bool{}, token.NoPos // the end of the list that is looked at
	ast.Inspect(file, func(n ast.Node) bool {
		line := 0
		if n != nil {
			line = fset.Position(n.Pos()).Line
		}
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false // TestLayers looks at these
		case *ast.CompositeLit:
			list = max(list, n.End())
		case *ast.BasicLit:
			if text, _ := strconv.Unquote(n.Value); n.Kind == token.STRING && inText.MatchString(text) {
				found = append(found, "line "+strconv.Itoa(line)+": "+n.Value)
			}
		case *ast.Ident:
			if inCode.MatchString(n.Name) && !lines[line] && !slices.Contains(ofLibraries, n.Name) {
				if lines[line] = true; len(lines) > 1 || n.Pos() >= list {
					found = append(found, "line "+strconv.Itoa(line)+": "+n.Name)
				}
			}
		}
		return true
	})
	return found
}

func TestMentionsAreToldFromOtherWords(t *testing.T) {
	for code, want := range map[string]int{
		`switch x { case "cursor": }`:                          1,
		`if x == "cursor" || x == "cursor-agent" {}`:           2,
		`_ = "/home/.cursor/mcp.json" + "cursor://open"`:       2,
		`_ = "CURSOR_API_KEY" + "start Cursor anew"`:           2,
		`_ = "c2c hook --client cursor" + "cursor resume"`:     2,
		`_ = []setup{install.Cursor, cursorFiles}`:             0, // the line that registers it
		"_ = []setup{cursor()}\n_ = isCursor\n_ = cursorFiles": 2,
		`if x == Cursor {}`:                                    1,
		`_ = "no cursor on its screen"`:                        0,
		`_ = "#{pane_id} #{cursor_x}" + "the precursor"`:       0,
		"_ = cursors\n_ = Precursor\n_ = recursor":             0,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x\nfunc f() {\n"+code+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := mentions(fset, file, "cursor"); len(got) != want {
			t.Errorf("%s\nmentions it at %q, want %d", code, got, want)
		}
	}
}
