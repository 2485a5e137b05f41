package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"c2c/client"
)

// layer is what a package is for, and what it may import besides the standard library: each of our
// packages by its own name, another module by its path.
type layer struct{ name, contract, imports string }

// layers is the policy, from the programs down. The list in docs/design.md is made of it.
var layers = []layer{
	{"cmd/c2c", "the verbs that need no large library, and the hook",
		"broker broker/moves broker/owed client cmd/cli hooks inbox inbox/mail internal/atomicfile internal/format internal/inotify internal/proc project relay/cache rooms sessions sessions/callers sessions/claims sessions/permission wake"},
	{"cmd/c2cd", "the verbs that need large libraries: the daemon, servers, installation, diagnosis, start, screens",
		"broker broker/moves broker/owed client cmd/cli cmd/relay cmd/ringer cmd/watch golang.org/x/sys hooks inbox inbox/mail install internal/atomicfile internal/daemon internal/fields internal/format internal/proc mcp mcp/tools project rooms serve serve/live serve/outside serve/page sessions sessions/callers sessions/claims sessions/permission wake wake/plugin wake/terminal wake/watch wake/wire"},
	{"cmd/cli", "the table of all verbs, and what is made from it: options, help, completion, errors, pages",
		"broker client inbox inbox/mail internal/atomicfile internal/proc project sessions sessions/callers"},
	{"cmd/relay", "c2c relay: pairs machines, carries the mail of all roots to them and from them",
		"broker broker/owed cmd/cli inbox inbox/mail internal/atomicfile internal/daemon internal/format project relay relay/<carrier> relay/cache rooms sessions sessions/callers wake/watch"},
	{"cmd/watch", "c2c watch: the screen",
		"broker github.com/gdamore/tcell/v2 github.com/rivo/uniseg inbox inbox/mail internal/format rooms serve/live sessions wake"},
	{"mcp", "serves the tools over stdio and HTTP",
		"broker client github.com/mark3labs/mcp-go golang.org/x/sys inbox inbox/mail internal/atomicfile internal/daemon internal/sse mcp/rpc mcp/tools sessions sessions/callers wake"},
	{"mcp/rpc", "parses and writes JSON-RPC messages",
		"github.com/mark3labs/mcp-go"},
	{"mcp/tools", "the MCP tools: what each takes, does and answers, for any transport",
		"broker broker/moves broker/owed client github.com/mark3labs/mcp-go inbox inbox/mail internal/atomicfile internal/daemon mcp/rpc rooms sessions sessions/callers sessions/claims sessions/permission wake wake/watch"},
	{"serve", "listens for HTTP on this machine: checks visitors, limits them, opens roots, publishes the port",
		"broker golang.org/x/sys internal/atomicfile internal/daemon internal/proc serve/live sessions/permission"},
	{"serve/outside", "programs and people outside: who they are, webhooks in, streams of events and answers out",
		"broker broker/owed inbox inbox/mail internal/atomicfile internal/daemon internal/fields internal/sse serve serve/live sessions sessions/permission"},
	{"serve/page", "the web page for a person: its files, its login, what it shows and does",
		"broker broker/owed inbox inbox/mail internal/atomicfile internal/daemon internal/sse rooms serve serve/live sessions sessions/callers sessions/permission"},
	{"serve/live", "a view of a root that follows its changes, with its permission requests; it only reads",
		"broker broker/owed inbox inbox/mail internal/daemon rooms sessions sessions/permission wake wake/watch"},
	{"relay/relaytest", "hosts and a pipe that loses, repeats and reorders, for tests of the relay and of its carriers; no program imports it",
		"inbox inbox/mail internal/atomicfile relay"},
	{"relay/<carrier>", "carries packets between hosts in one way: ssh, or nats, a hub with NATS JetStream",
		"github.com/nats-io/nats.go github.com/nats-io/nkeys inbox/mail internal/daemon internal/proc relay"},
	{"relay", "mail to other machines: outboxes, numbered frames, receipts; the paired machines, and what was heard of them",
		"filippo.io/age inbox inbox/mail internal/atomicfile internal/daemon relay/cache"},
	{"relay/cache", "what was last heard of other machines, for c2c list and c2c status",
		"inbox/mail internal/atomicfile"},
	{"cmd/ringer", "wakes the sessions of a root while its process lives; chooses the way for each",
		"broker broker/moves broker/owed client inbox inbox/mail internal/atomicfile internal/daemon internal/proc sessions sessions/callers wake wake/<way> wake/plugin wake/terminal wake/watch"},
	{"install", "plans, shows, applies, undoes and checks edits of the clients' configuration",
		"client github.com/creachadair/tomledit github.com/rogpeppe/go-internal/diff github.com/tailscale/hujson install/confedit internal/atomicfile internal/format internal/proc"},
	{"install/confedit", "edits the text of other programs' JSON and TOML files, and keeps every other byte",
		"github.com/creachadair/tomledit github.com/tailscale/hujson"},
	{"rooms", "rooms on disk: members, one history for each room, how far each member has read; posts, and copies on other machines",
		"broker broker/owed inbox inbox/mail internal/atomicfile internal/fields sessions"},
	{"broker", "sends and answers messages, hands them over, lists and finds them, says what became of each and why it is not read yet",
		"broker/moves broker/owed client golang.org/x/sys inbox inbox/mail internal/atomicfile internal/fields internal/format internal/proc project relay/cache sessions sessions/callers wake"},
	{"sessions/claims", "which session works on which files or tasks; who edits what another one has claimed is warned",
		"broker/owed inbox/mail internal/atomicfile sessions"},
	{"broker/owed", "what is owed, how it ends and who is told: obligations, c2c's own notices, requests for a notice, the loop guard",
		"inbox inbox/mail internal/atomicfile internal/format sessions sessions/callers wake"},
	{"broker/moves", "moves mail to another mailbox: takeover, sweep, return, to another root",
		"broker/owed inbox inbox/mail internal/atomicfile project sessions sessions/callers"},
	{"sessions", "an open root: its sessions, their aliases and facts, the registry, and whether their clients live",
		"client golang.org/x/sys inbox inbox/mail internal/atomicfile internal/fields internal/format internal/proc project wake"},
	{"sessions/callers", "finds the session and the root that a call belongs to, or makes a session",
		"client golang.org/x/sys inbox/mail internal/atomicfile internal/proc project sessions"},
	{"project", "finds the root of a directory: where the mail of its project is kept",
		"golang.org/x/sys internal/atomicfile internal/format internal/proc"},
	{"hooks", "the clients' hook protocols",
		"client inbox/mail internal/format internal/proc"},
	{"wake", "decides when to ring; defines rings, notices and ways to a client (every hook links it)",
		"inbox inbox/mail"},
	{"wake/<way>", "wakes sessions in one way, such as the protocol of one client (Profile.Protocol)",
		"client github.com/coder/websocket golang.org/x/sys inbox inbox/mail internal/atomicfile internal/daemon internal/proc wake wake/socket wake/watch"},
	{"wake/terminal", "types into a client's prompt: in a terminal of its own, or in a tmux pane",
		"github.com/charmbracelet/x/ansi github.com/creack/pty golang.org/x/sys golang.org/x/term inbox/mail internal/proc wake wake/socket"},
	{"wake/plugin", "speaks with our plugin inside a client",
		"client inbox/mail wake"},
	{"wake/socket", "writes to sockets of clients, but not where another user could listen",
		"internal/proc wake"},
	{"wake/watch", "watches mailboxes and rings their sessions",
		"github.com/fsnotify/fsnotify inbox inbox/mail internal/inotify wake"},
	{"wake/wire", "speaks the Wire protocol with an agent that it starts",
		"inbox inbox/mail internal/proc wake"},
	{"sessions/permission", "tool calls that wait for a person's consent, and the verdicts",
		"inbox/mail internal/atomicfile"},
	{"client", "facts about each AI program, and how its files are read",
		"internal/atomicfile internal/proc"},
	{"inbox", "one session's mail on disk: deliver, lease, ack, and the archive of what was read",
		"inbox/mail internal/atomicfile internal/fields"},
	{"inbox/mail", "a message: its fields, its form in files, its text for models and people; searches text for words",
		"internal/fields"},
	{"internal/daemon", "the one daemon: its process, its parts and what switches them on; bounds goroutines and keeps them alive",
		"internal/atomicfile internal/proc wake/watch"},
	{"internal/sse", "writes one stream of events to one client",
		""},
	{"internal/format", "writes times, durations, counts and findings for people",
		"inbox/mail"},
	{"internal/proc", "the machine's processes: what the system tells of them, programs that c2c runs, notifications of the desktop",
		"golang.org/x/sys"},
	{"internal/atomicfile", "replaces files whole: a reader or a power cut sees old or new, never half; locks; short lists in files",
		"golang.org/x/sys"},
	{"internal/fields", "reads JSON objects field by field, and keeps the fields that it does not know",
		""},
	{"internal/inotify", "tells when a program has closed a file (Linux)",
		"golang.org/x/sys"},
}

// others are the rows of packages without one of their own: each way to wake sessions, and each
// carrier of the relay, is a package.
var others = map[string]string{"wake": "wake/<way>", "relay": "relay/<carrier>"}

// layerOf gives the row of a package, nil when it has none.
func layerOf(pkg string) *layer {
	for _, name := range []string{pkg, others[path.Dir(pkg)]} {
		if i := slices.IndexFunc(layers, func(l layer) bool { return l.name == name }); i >= 0 {
			return &layers[i]
		}
	}
	return nil
}

// adapters know one client or one terminal each, and nothing of each other; besideAdapters serve
// several of them.
var (
	adapters       = []string{"wake/<way>", "wake/plugin", "wake/terminal", "wake/wire"}
	besideAdapters = []string{"wake/socket", "wake/watch"}
)

func TestEveryPackageBelowWakeIsAnAdapterOrServesThem(t *testing.T) {
	for _, row := range layers {
		if _, isBelow := strings.CutPrefix(row.name, "wake/"); isBelow && slices.Contains(adapters, row.name) == slices.Contains(besideAdapters, row.name) {
			t.Errorf("%s must be in one of the lists adapters and besideAdapters", row.name)
		}
	}
}

// Otherwise a way would break the promises of package wake unseen, or be a row that nobody rings by.
func TestEveryWayToWakeIsTestedAndUsed(t *testing.T) {
	var used strings.Builder
	for _, s := range product(t) {
		if s.path == "wake/method.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				used.WriteString(sel.Sel.Name + "\n")
			}
			return true
		})
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "wake", "method.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`(?m)^\t(By[A-Z]\w*)\s+= "`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(used.String(), name[1]+"\n") {
			t.Errorf("wake.%s: no code rings by it; cmd/ringer/scope.go or the package of its client does", name[1])
		}
	}
	tests, err := filepath.Glob(filepath.Join("..", "..", "wake", "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "waketest.Run(") {
			tested["wake/"+filepath.Base(filepath.Dir(file))] = true
		}
	}
	for _, s := range product(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv != nil && f.Name.Name == "Ring" && strings.HasPrefix(s.pkg, "wake/") && !tested[s.pkg] {
				t.Errorf("%s has a wake.Doorbell: a test of %s must call waketest.Run (e2e/waketest)", s.path, s.pkg)
			}
		}
	}
}

// slow is what c2c must not link, however far away it is imported: it costs at every hook.
var slow = []string{"net", "net/netip", "net/http", "text/template", "html/template", "regexp", "go/ast", "encoding/xml", "encoding/gob"}

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
		row := layerOf(s.pkg)
		if row == nil {
			t.Errorf("package %s has no line in layers", s.pkg)
			continue
		}
		for _, name := range s.imports {
			allowed := standard(name)
			for _, word := range strings.Fields(row.imports) {
				ours := layerOf(strings.TrimPrefix(name, "c2c/"))
				allowed = allowed || name == "c2c/"+word || ours != nil && ours.name == word || module(word) && below(name, word)
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
		if len(by) > 1 && !slices.Contains(linked, name) && !underOne(slices.Sorted(maps.Keys(by))) {
			t.Errorf("%s is imported by %q; one package is to know it", name, slices.Sorted(maps.Keys(by)))
		}
	}
	for _, one := range adapters {
		for _, other := range adapters {
			if slices.Contains(strings.Fields(layerOf(one).imports), other) {
				t.Errorf("%s may import %s: ways to wake know nothing of each other", one, other)
			}
		}
	}
}

// underOne says whether packages stand below the first of them: together they are one to the
// others.
func underOne(sorted []string) bool {
	return !slices.ContainsFunc(sorted, func(pkg string) bool { return !below(pkg, sorted[0]) })
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
	if !seen["internal/atomicfile"] {
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
var clientLayers = []string{"client", "hooks", "install", "wake", "wake/terminal"}

// docs/adding-a-client.md: what is known of a client stands in its own files, and those register
// it.
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

// mentions lists where a file names a client, in text or in code. Some clients are called like a
// thing: a terminal has a cursor. So in text the name counts as the first word, in a path or behind
// an option, and with a capital letter. A lower-case word inside of a sentence does not.
func mentions(fset *token.FileSet, file *ast.File, name string) (found []string) {
	large := "(?:" + strings.ToUpper(name[:1]) + name[1:] + "|" + strings.ToUpper(name) + ")"
	inText := regexp.MustCompile(`(?:^|[-/.@=:~]|-\w+ )` + name + `(?:\W|$)|\b` + name + `[-/=@:]\w|(?:^|[\W_])` + large + `(?:[\W_]|$)`)
	inCode := regexp.MustCompile(`^` + name + `(?:[A-Z_\d]|$)|` + large + `(?:[A-Z_\d]|$)`)
	add := func(n ast.Node, what string) {
		found = append(found, "line "+strconv.Itoa(fset.Position(n.Pos()).Line)+": "+what)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false // TestLayers looks at these
		case *ast.BasicLit:
			if text, _ := strconv.Unquote(n.Value); n.Kind == token.STRING && inText.MatchString(text) {
				add(n, n.Value)
			}
		case *ast.Ident:
			if inCode.MatchString(n.Name) && !slices.Contains(ofLibraries, n.Name) {
				add(n, n.Name)
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
		"_ = []setup{cursor()}\n_ = isCursor\n_ = cursorFiles": 3,
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
