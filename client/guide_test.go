package client

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/clients.md anew (make docs)")

// guide holds the facts that people need about a client before they use it with c2c, besides those
// of its profile. docs/clients.md is made from the guides.
type guide struct {
	Date string // the day of the measurements
	// Active says how mail reaches a session that works. Idle says the same for a session that
	// waits for its person, and Last for both if these ways are missing. Receipt is the proof that
	// the client has the mail, Answer the proof that its model has answered.
	Active, Idle, Last, Receipt, Answer string
	Claimed                             string   // what happens when the client edits a file that another session has claimed
	Sees                                string   // what its person sees, in addition to the recorded screens (e2e/testdata/screens)
	SetUp                               string   // what c2c install writes, and what the client asks its person
	Quirks                              []string // what may surprise a person
}

// guides has the guide of each client by its name. The file of a guide adds it in its init.
var guides = map[string]guide{}

func TestEveryGuideIsComplete(t *testing.T) {
	for _, p := range All() {
		if p.Title == "" || (p.Package == "") != (p.Tested == "") {
			t.Errorf("the profile of %s lacks its title, package or tested version", p.Name)
		}
		for i, v := 0, reflect.ValueOf(guides[p.Name]); i < v.NumField(); i++ {
			if v.Field(i).Len() == 0 {
				t.Errorf("the guide of %s (client/%[1]s_guide_test.go) says nothing of %s", p.Name, v.Type().Field(i).Name)
			}
		}
	}
}

// What the guides call tested is what the tests on the real clients run.
func TestTheGuidesNameThePinnedVersions(t *testing.T) {
	pins, err := os.ReadFile(filepath.Join("..", "scripts", "e2e-clients.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range All() {
		if p.Package == "" {
			continue // its page says that it was not run
		}
		if pin := p.Package + "@" + p.Tested; !slices.Contains(strings.Split(string(pins), "\n"), pin) {
			t.Errorf("%s is not in scripts/e2e-clients.txt", pin)
		}
	}
}

func TestTheClientsPageIsMadeOfTheGuides(t *testing.T) {
	page := filepath.Join("..", "docs", "clients.md")
	want := clientsPage(t)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/clients.md is stale: run make docs")
	}
}

const pageHead = `# Clients

This page is made from the guides in ` + "`client`" + ` by ` + "`make docs`" + `. Edit those.

The tests run the real program of each client, in the version that the table names. Another version may work as well:
` + "`c2c doctor`" + ` reports when yours is another one, and ` + "`make certify`" + ` tests the newest ([certified.md](inside/certified.md)).

The receipt proves that the client has the mail that was brought to an idle session. The message is then ` + "`handed`" + `, as it is when
a hook or a tool has handed it over. It is ` + "`read`" + ` when the model has answered since; a request that has failed does not count.
The last column names the proof of that answer. In every client, a call of a tool of c2c is such a proof too.

In tmux c2c types a line only under ` + "`c2c start`" + `, or into a pane in which the person lets c2c type: run ` + "`c2c wake attach`" + `
in that pane, from the client's own shell, and ` + "`c2c wake start`" + ` once. Kimi Code and Gemini CLI are woken only by such a line: if they
were started without ` + "`c2c start`" + `, mail comes with their next turn. ` + "`c2c start`" + ` sets up Claude Code, Copilot, Qwen Code and OpenCode
for one session, and changes none of their files; without ` + "`c2c install`" + ` a Codex of ` + "`c2c start`" + ` has only c2c in its shell, and gets mail between
its turns. A subagent has no mailbox in any client. It gets no mail if
c2c can distinguish it from its session.

`

const claimedHead = `
## Claimed files
What happens when a session edits a file that another one has claimed (` + "`c2c claim`" + `). Where an edit is warned or refused, two sessions
that edit the same unclaimed file are also told, once, in a project with claims. A shell command may change any file: no client says
which.

`

const sightHead = `
## What the person sees
The person sees each message once: who has written, and the first words. These are parts of the real screens, as the tests record
them (` + "`e2e/testdata/screens`" + `). In each, birch has sent one word.
`

// screens is the part of the page with a client's recorded screens. Situations that look the same
// stand together.
func screens(t *testing.T, client string) string {
	var looks []string
	at := map[string][]string{}
	for _, when := range []string{"idle", "turn", "dialog"} {
		data, err := os.ReadFile(filepath.Join("..", "e2e", "testdata", "screens", client+"-"+when+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		look := string(data)
		if !slices.Contains(looks, look) {
			looks = append(looks, look)
		}
		at[look] = append(at[look], map[string]string{"idle": "idle", "turn": "in a turn", "dialog": "at a dialog"}[when])
	}
	var b strings.Builder
	for _, look := range looks {
		fmt.Fprintf(&b, "\n%s:\n\n```text\n%s```\n", strings.Join(at[look], ", "), look)
	}
	return b.String()
}

func clientsPage(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	b.WriteString("| client | tested | while it works | when it is idle | last way | receipt | read |\n|---|---|---|---|---|---|---|\n")
	for _, p := range All() {
		g, tested := guides[p.Name], cmp.Or(p.Tested, "not run, after its documentation")
		fmt.Fprintf(&b, "| %s | %s, %s | %s | %s | %s | %s | %s |\n", p.Title, tested, g.Date, g.Active, g.Idle, g.Last, g.Receipt, g.Answer)
	}
	b.WriteString(claimedHead)
	for _, p := range All() {
		fmt.Fprintf(&b, "- %s: %s.\n", p.Title, guides[p.Name].Claimed)
	}
	b.WriteString(sightHead)
	for _, p := range All() {
		fmt.Fprintf(&b, "\n### %s\n%s\n", p.Title, guides[p.Name].Sees)
		if p.Package != "" {
			b.WriteString(screens(t, p.Name))
		}
	}
	for _, p := range All() {
		g := guides[p.Name]
		fmt.Fprintf(&b, "\n## %s\n`c2c install %s`", p.Title, p.Name)
		if p.Package != "" {
			fmt.Fprintf(&b, " (npm: `%s`)", p.Package)
		}
		fmt.Fprintf(&b, ". %s\n\n", g.SetUp)
		for _, quirk := range g.Quirks {
			fmt.Fprintf(&b, "- %s\n", quirk)
		}
	}
	lines, files := onlyMacOS(t)
	fmt.Fprintf(&b, macOS, lines, files)
	b.WriteString(pageTail)
	return b.Bytes()
}

// macOS is the part of the page for macOS; its parameters are from onlyMacOS.
const macOS = `
## macOS
c2c was not run on a Mac. What it has there instead of the calls of Linux runs on Linux, too: ` + "`make test-portable`" + ` runs it with the
tests, with Claude Code, Codex and OpenCode, and while processes are killed. So all of c2c but %d lines has been run. These ask macOS's
kernel, and the reading of its answers is tested; and the module fsnotify, which tells of changed files, has its own code for macOS.
The lines are in %s.

| client | on macOS |
|---|---|
| Claude Code, OpenCode, GitHub Copilot CLI, Qwen Code, Gemini CLI, Cursor | as in the table above |
| Codex | as in the table above; that a window has ended is seen up to a second later |
| Kimi Code | as in the table above; a session of ` + "`kimi web`" + ` is woken only if that listens on 127.0.0.1, not on all addresses |

For all clients: mail that a killed reader gives back rings up to a second later; an error does not name the process that holds a
lock; no notification of the desktop is shown; ` + "`c2c serve`" + ` refuses no other user of the Mac who has the token or a link.
`

// onlyMacOS returns how many lines of c2c only macOS runs, and the files.
func onlyMacOS(t *testing.T) (lines int, files string) {
	var names []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_darwin.go") {
			return err
		}
		data, err := os.ReadFile(path)
		lines += bytes.Count(data, []byte("\n"))
		names = append(names, "`"+strings.TrimPrefix(path, "../")+"`")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, strings.Join(names, ", ")
}

const pageTail = `
## Any other client
Any program that runs MCP servers over standard input and output can send and read mail: ` + "[any-client.md](any-client.md)" + `. It gets
its mail at its next call of a tool of c2c.
`
