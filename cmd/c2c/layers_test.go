package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"c2c/client"
)

// layer is what a package is for, and what it may import besides the standard library: each of our packages by its own name,
// another module by its path.
type layer struct{ name, contract, imports string }

// layers is the policy, from the programs down. The list in docs/design.md is made of it.
var layers = []layer{
	{"cmd/c2c", "the verbs that must start as fast as an empty program: parse, call, print",
		"broker broker/deadlines broker/explain broker/moves broker/notice broker/owed broker/resume client cmd/cli cmd/hook format hooks inbox inbox/archive inbox/inotify inbox/mail process/child project rooms rooms/talk sessions sessions/callers sessions/processes wake"},
	{"cmd/hook", "c2c hook: answers one hook event of a client, with the mail that waits",
		"broker broker/moves client hooks inbox/archive inbox/atomicfile inbox/mail project rooms rooms/talk sessions sessions/callers sessions/processes sessions/registry sessions/turns wake"},
	{"cmd/c2cd", "the other verbs, which may link large libraries",
		"broker broker/notify broker/owed claims client cmd/checkup cmd/cli cmd/elsewhere cmd/httpd cmd/launch cmd/man cmd/monitor cmd/rare cmd/relayed cmd/roomed cmd/setup cmd/waking cmd/watch cmd/wired doctor format golang.org/x/sys hooks inbox inbox/atomicfile inbox/mail install install/selftest live mcp mcp/tools merge permission process/child process/desktop project ringer rooms rooms/talk senders serve serve/page serve/webhook sessions sessions/callers sessions/processes sessions/turns wake wake/clients wake/daemon wake/mux wake/plugin wake/pty wake/watch"},
	{"cmd/setup", "c2c install and c2c uninstall: edits the clients' configuration, and says what is left to do",
		"broker client cmd/checkup cmd/cli cmd/httpd cmd/relayed cmd/running format hooks install install/edits process/child project serve sessions sessions/processes"},
	{"cmd/launch", "runs a client for c2c start: registers its session, and rings it as long as the client runs",
		"broker broker/moves client ringer sessions sessions/callers wake wake/pty"},
	{"cmd/checkup", "c2c doctor: finds what is wrong with the settings, the root, the daemons and the clients",
		"broker broker/explain broker/loops client cmd/elsewhere cmd/httpd cmd/relayed cmd/running cmd/wired doctor install process/child process/procstat project rooms/talk senders sessions sessions/callers sessions/processes wake/clients wake/daemon"},
	{"cmd/cli", "the table of all verbs, and what is made from it: options, help, completion, errors, pages",
		"broker client inbox inbox/atomicfile inbox/filelock inbox/mail process/child project sessions sessions/callers"},
	{"cmd/rare", "rare work that c2c leaves to c2cd, so that no hook loads it: handover, sweep, prune, deadlines",
		"broker broker/deadlines broker/moves broker/notify cmd/cli inbox process/desktop project sessions sessions/callers"},
	{"cmd/waking", "c2c wake: the daemon that wakes the sessions of a root from outside",
		"broker inbox/atomicfile ringer wake wake/daemon"},
	{"cmd/wired", "c2c wire-daemon: carries the mail of one session to an agent that it has started",
		"broker client cmd/cli doctor inbox inbox/atomicfile ringer sessions sessions/callers wake wake/daemon wake/watch wake/wire"},
	{"cmd/httpd", "c2c serve: the HTTP server with its paths, and the work for each root that it has open",
		"broker broker/loops broker/owed inbox inbox/atomicfile mcp mcp/tools process/procstat process/survive project ringer rooms rooms/talk senders serve serve/events serve/page serve/webhook sessions sessions/eventlog sessions/processes wake wake/daemon wake/watch"},
	{"cmd/roomed", "c2c rooms: makes rooms, joins and leaves them, lists and shows them",
		"broker broker/owed cmd/cli format inbox/finder inbox/mail rooms rooms/copies rooms/talk sessions sessions/callers"},
	{"cmd/relayed", "what c2c relay runs: pairs machines, carries the mail of all roots to them and from them",
		"broker broker/explain broker/loops cmd/cli doctor format inbox inbox/atomicfile inbox/filelock inbox/mail project relay relay/cache relay/hosts relay/nats relay/ssh rooms rooms/copies rooms/talk sessions sessions/callers sessions/registry wake/daemon wake/watch"},
	{"cmd/monitor", "c2c monitor: prints events of a root as lines, for programs",
		"inbox/archive inbox/fields inbox/mail live wake"},
	{"cmd/elsewhere", "says where a session or mail is that a project does not have: in another project, or in a former root of this one",
		"broker broker/explain inbox/atomicfile inbox/mail project sessions sessions/callers sessions/processes sessions/registry"},
	{"cmd/running", "finds clients that were started without c2c",
		"broker client inbox/mail process/procstat sessions sessions/callers"},
	{"cmd/man", "makes the man pages from the table of all verbs",
		"broker cmd/cli"},
	{"cmd/watch", "c2c watch: the screen",
		"broker broker/explain format github.com/gdamore/tcell/v2 github.com/rivo/uniseg inbox/mail live rooms/talk sessions"},
	{"mcp", "serves the tools over stdio and HTTP",
		"broker client github.com/mark3labs/mcp-go golang.org/x/sys inbox inbox/atomicfile inbox/mail mcp/rpc mcp/tools process/survive serve/underway sessions sessions/callers sessions/processes sse wake"},
	{"mcp/rpc", "parses and writes JSON-RPC messages",
		"github.com/mark3labs/mcp-go"},
	{"mcp/tools", "the MCP tools: what each takes, does and answers, for any transport",
		"broker broker/explain broker/moves broker/notify broker/owed claims client github.com/mark3labs/mcp-go inbox inbox/archive inbox/filelock inbox/mail mcp/rpc permission process/survive rooms rooms/talk sessions sessions/callers sessions/eventlog sessions/registry sessions/turns wake wake/watch"},
	{"serve", "listens for HTTP on this machine: checks visitors, limits them, opens roots, publishes the port",
		"broker golang.org/x/sys inbox/atomicfile inbox/filelock live live/requests permission process/procstat process/procstat/sockets process/survive serve/underway"},
	{"serve/events", "streams of events: what happens in a root, and the answers to senders outside",
		"inbox inbox/mail live permission process/survive serve sessions sse"},
	{"serve/page", "the web page for a person: its files, its login, what it shows and does",
		"broker broker/explain broker/notify broker/owed inbox inbox/atomicfile inbox/mail live live/requests permission process/survive rooms rooms/talk serve sessions sessions/callers sse"},
	{"serve/underway", "counts the calls of a daemon that still run",
		""},
	{"serve/webhook", "takes mail and permission verdicts from outside, over HTTP",
		"broker broker/loops inbox inbox/atomicfile inbox/fields inbox/mail permission process/ratelimit senders serve sessions"},
	{"sse", "writes one stream of events to one client",
		""},
	{"live", "a view of a root that follows its changes; it only reads",
		"broker broker/notice inbox inbox/archive inbox/mail process/survive rooms sessions sessions/registry sessions/turns wake wake/watch"},
	{"live/requests", "the permission requests of a root; it reads them again after each change, once for all who show them",
		"permission process/survive wake/watch"},
	{"relay/relaytest", "hosts and a pipe that loses, repeats and reorders, for tests of the relay and of its carriers; no program imports it",
		"inbox inbox/atomicfile inbox/mail relay relay/hosts"},
	{"relay/ssh", "carries packets between hosts through ssh, both ways over one link",
		"relay"},
	{"relay/nats", "carries packets between hosts through a hub with NATS JetStream; writes what a hub is configured by",
		"github.com/nats-io/nats.go github.com/nats-io/nkeys relay relay/hosts"},
	{"relay", "mail to other machines: outboxes, numbered frames, receipts; the carrier interface",
		"inbox inbox/atomicfile inbox/filelock inbox/mail relay/cache relay/hosts"},
	{"relay/cache", "what was last heard of other machines, for c2c list and c2c status",
		"inbox/atomicfile inbox/filelock inbox/mail"},
	{"relay/hosts", "which machines are paired: keys, what each may reach, invitations, revocation",
		"filippo.io/age inbox/atomicfile inbox/filelock inbox/mail inbox/private"},
	{"ringer", "wakes the sessions of a root while its process lives; chooses the way for each",
		"broker broker/deadlines broker/notify broker/owed client inbox inbox/filelock inbox/mail process/desktop process/survive sessions sessions/callers sessions/due sessions/facts sessions/processes sessions/registry sessions/turns wake wake/clients wake/mux wake/plugin wake/watch"},
	{"doctor", "what a check reports, and how reports are printed",
		"format inbox/mail"},
	{"install", "plans, shows, applies, undoes and checks edits of the clients' configuration",
		"client doctor github.com/creachadair/tomledit github.com/tailscale/hujson inbox/atomicfile install/confedit install/edits install/preview process/child"},
	{"install/edits", "reads the configuration files of other programs, and describes edits of them, which are checked before they are written",
		"inbox/atomicfile"},
	{"install/preview", "shows edits to a person: diffs, and one line for a file that is c2c's own",
		"format github.com/rogpeppe/go-internal/diff install/edits"},
	{"install/selftest", "sends mail to itself in a scratch root, by a hook and by an MCP server, for c2c doctor",
		"doctor install"},
	{"install/confedit", "edits the text of other programs' JSON and TOML files, and keeps every other byte",
		"github.com/creachadair/tomledit github.com/tailscale/hujson"},
	{"merge", "merges the root of an older version into this one",
		"broker/explain broker/moves broker/notice broker/notify broker/owed claims inbox inbox/archive inbox/atomicfile inbox/mail inbox/records project relay/cache rooms sessions sessions/callers sessions/due sessions/facts sessions/locks sessions/registry sessions/turns"},
	{"rooms/copies", "rooms with members on several machines: sends their posts there, and keeps copies of those of other machines",
		"broker broker/owed inbox inbox/filelock inbox/mail rooms rooms/talk sessions sessions/registry"},
	{"rooms/talk", "posts to rooms, joins and leaves them: whom a post wakes, what it costs, and when a room is stopped",
		"broker broker/notice broker/owed inbox/finder inbox/mail rooms sessions sessions/facts sessions/registry"},
	{"broker", "sends and answers messages, lists and finds them, says what became of them",
		"broker/explain broker/loops broker/moves broker/notice broker/owed broker/resume golang.org/x/sys inbox inbox/archive inbox/fields inbox/finder inbox/mail process/child project relay/cache sessions sessions/callers sessions/eventlog sessions/processes sessions/registry sessions/turns"},
	{"broker/deadlines", "acts when a time is over: lets messages expire, tells senders, reminds, tidies",
		"broker/loops broker/moves broker/notice broker/owed format inbox inbox/archive inbox/atomicfile inbox/filelock inbox/mail sessions sessions/due sessions/locks sessions/registry sessions/turns wake"},
	{"broker/explain", "says what became of a message, and why it is not read yet",
		"broker/deadlines broker/loops broker/notice broker/owed client doctor format inbox inbox/atomicfile inbox/mail relay/cache sessions sessions/locks sessions/registry sessions/turns wake"},
	{"broker/resume", "lets two sessions go on that the loop guard has stopped",
		"broker/loops inbox inbox/archive inbox/mail sessions sessions/registry sessions/turns"},
	{"broker/loops", "stops agents that only answer each other",
		"broker/notice inbox inbox/archive inbox/mail sessions sessions/registry sessions/turns"},
	{"broker/moves", "moves mail to another mailbox: hand-over, takeover, sweep, return",
		"broker/loops broker/notice broker/owed client inbox inbox/archive inbox/atomicfile inbox/filelock inbox/finder inbox/mail sessions sessions/callers sessions/facts sessions/locks sessions/registry sessions/turns wake"},
	{"broker/notify", "tells who asked, once, when a session is idle, blocked, done or has ended",
		"broker/notice inbox/filelock inbox/mail inbox/records sessions sessions/processes sessions/registry sessions/turns"},
	{"broker/notice", "c2c's own messages: sends any of them, and has the texts of those to the sender of a message; also the dead letters",
		"inbox inbox/atomicfile inbox/mail sessions sessions/callers sessions/registry"},
	{"broker/owed", "records of the answers that sessions owe, and of the questions that wait right now",
		"broker/notice inbox inbox/atomicfile inbox/filelock inbox/mail sessions sessions/due sessions/registry wake"},
	{"claims", "which session works on which files or tasks; who edits what another one has claimed is warned",
		"inbox/mail inbox/records sessions sessions/registry"},
	{"sessions", "an open root: its sessions, their aliases and facts, and whether their clients live",
		"client format inbox inbox/atomicfile inbox/filelock inbox/mail sessions/due sessions/eventlog sessions/facts sessions/locks sessions/processes sessions/registry wake"},
	{"sessions/callers", "finds the session and the root that a call belongs to, or makes a session",
		"client golang.org/x/sys inbox/atomicfile inbox/mail process/procstat project sessions sessions/facts sessions/processes sessions/registry"},
	{"sessions/turns", "records when a session's model has worked or answered, and which mail it has not read",
		"client inbox/archive inbox/atomicfile inbox/mail sessions sessions/facts sessions/processes"},
	{"sessions/due", "the time of the next deadline in a root: until then nobody has to look",
		"inbox inbox/atomicfile"},
	{"sessions/eventlog", "broker.log: the events of a root",
		"inbox inbox/atomicfile inbox/fields inbox/filelock inbox/mail wake"},
	{"sessions/facts", "facts about a session that registry.json has no field for: one file for each session",
		"inbox inbox/atomicfile inbox/fields inbox/filelock inbox/mail wake"},
	{"sessions/locks", "the locks that show which process rings a session, and which serves it",
		"inbox/atomicfile inbox/filelock"},
	{"sessions/processes", "the machine's processes; also the note that c2c was uninstalled while a client ran on",
		"client golang.org/x/sys inbox/atomicfile process/procstat project"},
	{"sessions/registry", "registry.json: a row for each session, in the format of the OCaml c2c",
		"inbox inbox/atomicfile inbox/fields inbox/filelock sessions/eventlog"},
	{"rooms", "rooms on disk: members, one history for each room, and how far each member has read",
		"inbox inbox/atomicfile inbox/fields inbox/filelock inbox/mail sessions/facts sessions/registry"},
	{"project", "finds the root of a directory: where the mail of its project is kept",
		"golang.org/x/sys format inbox/atomicfile process/child"},
	{"format", "writes times, durations and counts for people",
		""},
	{"hooks", "the clients' hook protocols",
		"client format inbox/mail"},
	{"wake", "decides when to ring; defines rings, notices and ways to a client (every hook links it)",
		"inbox inbox/mail"},
	{"wake/claude", "writes to Claude Code's messaging socket, and to the history of its sessions",
		"client inbox inbox/atomicfile inbox/mail process/ratelimit wake wake/socket wake/watch"},
	{"wake/clients", "lists the clients that can be woken, one line each",
		"wake wake/claude wake/codex wake/kimi wake/qwen"},
	{"wake/codex", "speaks with Codex's app-server, and uses its queue",
		"client github.com/coder/websocket golang.org/x/sys inbox/mail process/procstat wake wake/socket"},
	{"wake/daemon", "starts and stops a daemon: its lock, pid file, log and systemd unit",
		"inbox/atomicfile inbox/filelock wake/watch"},
	{"wake/kimi", "sees whether a turn of Kimi Code runs; calls the REST interface of `kimi web`",
		"client inbox/atomicfile wake wake/socket"},
	{"wake/mux", "types into a pane of tmux or screen",
		"golang.org/x/sys process/child process/procstat wake wake/screen wake/socket"},
	{"wake/plugin", "speaks with our plugin inside a client",
		"inbox/mail wake"},
	{"wake/pty", "runs a client in a terminal of its own, and types there",
		"github.com/creack/pty golang.org/x/sys golang.org/x/term inbox/mail wake wake/screen"},
	{"wake/qwen", "writes to Qwen Code's socket for messages between sessions",
		"client inbox inbox/atomicfile inbox/mail process/procstat wake wake/socket"},
	{"wake/screen", "reads a client's prompt off its screen, and decides when and how to type there",
		"github.com/charmbracelet/x/ansi inbox/mail wake"},
	{"wake/socket", "writes to sockets of clients, but not where another user could listen",
		"process/procstat wake"},
	{"wake/watch", "watches mailboxes and rings their sessions",
		"github.com/fsnotify/fsnotify inbox inbox/archive inbox/inotify inbox/mail wake"},
	{"wake/wire", "speaks the Wire protocol with an agent that it starts",
		"inbox inbox/mail wake"},
	{"permission", "tool calls that wait for a person's consent, and the verdicts",
		"inbox/atomicfile inbox/filelock inbox/mail"},
	{"senders", "the list of programs and people that may write from outside, and how each proves itself",
		"inbox/atomicfile inbox/filelock inbox/mail inbox/private"},
	{"client", "facts about each AI program, and how its files are read",
		"inbox/atomicfile process/procstat"},
	{"process/child", "runs a program and waits for it, without linking os/exec",
		""},
	{"process/procstat", "reads what Linux says about a process in /proc",
		""},
	{"process/procstat/sockets", "finds the process that has a connection",
		"process/procstat"},
	{"process/desktop", "shows notifications of the desktop, with a program that is installed there",
		""},
	{"process/ratelimit", "bounds how often something may happen",
		""},
	{"process/survive", "keeps a panic in one goroutine from ending a process that serves many",
		""},
	{"inbox", "one session's mail on disk: deliver, lease, ack, history",
		"inbox/archive inbox/atomicfile inbox/fields inbox/filelock inbox/mail"},
	{"inbox/archive", "messages that a session was given: append-only files, rotated, with indexes of their ids",
		"inbox/atomicfile inbox/fields inbox/filelock inbox/mail"},
	{"inbox/mail", "a message: its fields, its form in files, and its text for models and people",
		"inbox/fields inbox/finder"},
	{"inbox/atomicfile", "replaces files whole: a reader or a power cut sees old or new, never half",
		"golang.org/x/sys"},
	{"inbox/fields", "reads JSON objects field by field, and keeps the fields that it does not know",
		""},
	{"inbox/filelock", "locks between goroutines, processes and programs that use lockf (OFD locks)",
		"golang.org/x/sys inbox/atomicfile"},
	{"inbox/records", "a short list in a JSON file, changed under a lock",
		"inbox/atomicfile inbox/filelock"},
	{"inbox/private", "a list in a file that only its user may read, and that a person repairs; changed under a lock",
		"inbox/atomicfile inbox/filelock"},
	{"inbox/finder", "searches much data for a text",
		""},
	{"inbox/inotify", "tells when a program has closed a file (Linux)",
		"golang.org/x/sys"},
}

// layerOf gives the row of a package, nil when it has none.
func layerOf(pkg string) *layer {
	for i := range layers {
		if layers[i].name == pkg {
			return &layers[i]
		}
	}
	return nil
}

// adapters know one client or one terminal each, and nothing of each other.
var adapters = []string{"wake/claude", "wake/codex", "wake/kimi", "wake/mux", "wake/plugin", "wake/pty", "wake/qwen", "wake/wire"}

// besideAdapters are the other packages below wake: they serve several adapters.
var besideAdapters = []string{"wake/clients", "wake/daemon", "wake/screen", "wake/socket", "wake/watch"}

func TestEveryPackageBelowWakeIsAnAdapterOrServesThem(t *testing.T) {
	for _, row := range layers {
		if _, isBelow := strings.CutPrefix(row.name, "wake/"); isBelow && slices.Contains(adapters, row.name) == slices.Contains(besideAdapters, row.name) {
			t.Errorf("%s must be in one of the lists adapters and besideAdapters", row.name)
		}
	}
}

// A status says by which way a message came.
func TestEveryMethodHasWordsInStatus(t *testing.T) {
	methods, err := os.ReadFile("../../wake/method.go")
	if err != nil {
		t.Fatal(err)
	}
	words, err := os.ReadFile("../../broker/explain/way.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t(By[A-Z]\w*)\s+= "`).FindAllStringSubmatch(string(methods), -1)
	if len(names) == 0 {
		t.Error("wake/method.go has no method")
	}
	for _, name := range names {
		if !strings.Contains(string(words), "{wake."+name[1]+", ") {
			t.Errorf("broker/explain/way.go has no words for wake.%s", name[1])
		}
	}
}

// slow is what c2c must not link, however far away it is imported: it costs at every hook.
var slow = []string{"net", "net/netip", "net/http", "text/template", "html/template", "regexp", "go/ast", "encoding/xml", "encoding/gob",
	"log/slog", "os/exec", "flag", "text/tabwriter"}

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

// underOne says whether packages stand below the first of them: together they are one to the others.
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
var clientLayers = []string{"client", "hooks", "install", "wake", "wake/screen"}

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
