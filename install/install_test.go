package install

import (
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"c2c/client"
	"c2c/internal/format"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const scriptName = claudeScript

const testScript = "#!/bin/sh\nexit 0\n"

// A box is a scratch home with a project and a c2c program in it.
type box struct {
	t   *testing.T
	dir string
	env map[string]string
	o   Options
}

func newBox(t *testing.T) *box {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, dir: dir, env: map[string]string{"PATH": filepath.Join(dir, "bin")}}
	b.write("bin/c2c", "#!/bin/sh\n", 0o755)
	for _, d := range []string{"home", "project"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.o = Options{
		Home: b.path("home"), Project: b.path("project"), Binary: b.path("bin/c2c"),
		Getenv: func(k string) string { return b.env[k] }, HookScript: []byte(testScript),
		StateDir: b.path("home/.local/state/c2c/install"),
	}
	return b
}

func (b *box) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *box) write(name, content string, mode fs.FileMode) {
	b.t.Helper()
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	// A program that another test starts now would have the file open to write, and then this one
	// could not be started.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(content), mode)
	syscall.ForkLock.RUnlock()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// edit replaces old by new in a file, as its owner would.
func (b *box) edit(name, old, new string) {
	b.t.Helper()
	text := b.read(name)
	if strings.Count(text, old) != 1 {
		b.t.Fatalf("%q is %d times in %s:\n%s", old, strings.Count(text, old), name, text)
	}
	if err := os.WriteFile(b.path(name), []byte(strings.Replace(text, old, new, 1)), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// tree returns everything below the box: mode and content by path.
func (b *box) tree() map[string]string {
	b.t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(b.dir, path)
		tree[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			tree[rel] += "\n" + b.read(rel)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			tree[rel] += "\n" + link
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return tree
}

func (b *box) wantTree(want map[string]string) {
	b.t.Helper()
	got := b.tree()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			b.t.Errorf("%s is\n%s\nwant\n%s", name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			b.t.Errorf("%s was left behind:\n%s", name, got[name])
		}
	}
}

func (b *box) plan(client string) *Plan {
	b.t.Helper()
	p, err := PlanInstall(client, b.o)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *box) install(client string) {
	b.t.Helper()
	if err := b.plan(client).Apply(); err != nil {
		b.t.Fatal(err)
	}
	if p := b.plan(client); !p.Empty() {
		b.t.Fatalf("second install changes something:\n%s", p.Diff(true))
	}
}

func (b *box) uninstall(client string) *Plan {
	b.t.Helper()
	p, err := PlanUninstall(client, b.o)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// clientOf returns the client with the longest name that the name of a file begins with.
func clientOf(file string) (name string) {
	for _, p := range client.All() {
		if len(p.Name) > len(name) && strings.HasPrefix(file, p.Name+"-") {
			name = p.Name
		}
	}
	return name
}

// TestGolden installs for the client that the file's name begins with, shows
// the diff, and uninstalls again, which must restore everything.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, client := range client.Names() {
		if !slices.ContainsFunc(files, func(name string) bool { return strings.HasPrefix(filepath.Base(name), client+"-") }) {
			t.Errorf("%s has no golden file: write testdata/golden/%s-nothing.txtar, and run this test with -update", client, client)
		}
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			b := newBox(t)
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			kept := archive.Files[:0]
			for _, f := range archive.Files {
				if f.Name == "diff" {
					want = string(f.Data)
					continue
				}
				kept = append(kept, f)
				b.write(f.Name, strings.ReplaceAll(string(f.Data), "$BOX", b.dir), 0o600)
			}
			b.o.InProject = strings.Contains(name, "project")
			b.o.SharedPlugin = strings.Contains(name, "shared")
			client := clientOf(filepath.Base(name))
			before := b.tree()

			p := b.plan(client)
			got := headed(strings.ReplaceAll(p.Diff(true), b.dir, "$BOX"))
			if *update {
				archive.Files = append(kept, txtar.File{Name: "diff", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("diff is\n%s\nwant\n%s", got, want)
			}
			b.wantTree(before) // a plan changes nothing
			b.install(client)
			b.uninstall(client)
			b.wantTree(before)
		})
	}
}

func TestAClientWithoutFilesOfAProjectIsNotSetUpForOne(t *testing.T) {
	b := newBox(t)
	b.o.InProject = true
	if _, err := PlanInstall(Codex, b.o); err == nil || !strings.Contains(err.Error(), "without --project") {
		t.Errorf("%v", err)
	}
}

// A plugin in one of its places is there, and what is wrong with it is put right there.
func TestAPluginOfAProjectIsInspected(t *testing.T) {
	b := newBox(t)
	b.o.InProject = true
	b.install(OpenCode)
	b.o.InProject = false // as doctor looks
	if found, err := Inspect(OpenCode, b.o); err != nil || len(found) != 2 || found[0].Status != format.OK || found[1].Status != format.OK {
		t.Errorf("found %+v, %v", found, err)
	}
	b.write("project/.opencode/plugins/c2c.ts", "// edited", 0o644)
	found, err := Inspect(OpenCode, b.o)
	if err != nil || len(found) != 2 {
		t.Errorf("found %+v, %v", found, err)
	}
	for _, f := range found {
		if f.Part == "plugin" && !strings.Contains(f.Detail, "c2c install opencode --project repairs it") {
			t.Errorf("found %+v", f)
		}
	}
}

// headed keeps the first lines of a plugin of ours in a diff: it stands whole in a file of its own.
func headed(diff string) (out string) {
	const head = 8
	plugin, added := false, 0
	for line := range strings.Lines(diff) {
		if name, begins := strings.CutPrefix(strings.TrimSpace(line), "+++ "); begins {
			plugin, added = slices.Contains([]string{".js", ".mjs", ".ts"}, filepath.Ext(name)), 0
		} else if strings.HasPrefix(line, "+") {
			added++
		}
		switch {
		case !plugin || added <= head || line[0] != '+':
			out += line
		case added == head+1:
			out += "+…\n"
		}
	}
	return out
}

func TestUninstallRestoresEveryByte(t *testing.T) {
	json := map[string]string{
		"empty": "", "white": " \n", "object": "{}", "object line": "{}\n", "open": "{\n}\n",
		"crlf": "{\r\n  \"model\": \"opus\"\r\n}\r\n", "no newline": "{\n  \"model\": \"opus\"\n}",
		"tabs":    "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n",
		"compact": `{"model":"opus","hooks":{}}`, "one line": `{ "model": "opus" }`,
		"comments":       "// mine\n{\n  /* a */ \"model\": \"opus\", // b\n  // c\n}\n// d\n",
		"trailing comma": "{\n  \"model\": \"opus\",\n}\n",
	}
	toml := map[string]string{
		"empty": "", "blank": "\n\n", "crlf": "model = \"x\"\r\n\r\n[a]\r\nb = 1\r\n", "no newline": "model = 'x'",
		"spacing": "model   =   \"x\"   # why\n\n\n[ a . b ]\n\tc=[ 1,\n  2 ]\n# end",
		"servers": "[mcp_servers.other]\ncommand = \"other\"\n\n[mcp_servers.other.env]\nA = \"b\"\n",
	}
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o640} {
		for name, text := range json {
			t.Run("claude/"+name, func(t *testing.T) {
				b := newBox(t)
				b.write("home/.claude/settings.json", text, mode)
				b.write("home/.claude.json", text, mode)
				before := b.tree()
				b.install(Claude)
				b.uninstall(Claude)
				b.wantTree(before)
			})
		}
		for name, text := range toml {
			t.Run("codex/"+name, func(t *testing.T) {
				b := newBox(t)
				b.write("home/.codex/config.toml", text, mode)
				b.write("home/.codex/hooks.json", "{}", mode)
				before := b.tree()
				b.install(Codex)
				if got := b.tree()["home/.codex/config.toml"]; !strings.HasPrefix(got, mode.String()+"\n"+text) {
					t.Errorf("config.toml lost its mode or text:\n%s", got)
				}
				b.uninstall(Codex)
				b.wantTree(before)
			})
		}
	}
}

func TestUninstallKeepsWhatTheUserAdded(t *testing.T) {
	b := newBox(t)
	b.write("home/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n", 0o600)
	before := b.tree()
	b.install(Claude)
	b.edit("home/.claude/settings.json", `"model": "opus",`, "\"model\": \"opus\",\n  \"theme\": \"dark\", // mine")
	if !b.plan(Claude).Empty() {
		t.Error("install after the user's edit changes something")
	}
	b.install(Claude)
	b.uninstall(Claude)
	before["home/.claude/settings.json"] = "-rw-------\n{\n  \"model\": \"opus\",\n  \"theme\": \"dark\" // mine\n}\n"
	b.wantTree(before)
}

func TestUninstallKeepsWhatCodexAdded(t *testing.T) {
	b := newBox(t)
	b.write("home/.codex/config.toml", "model = \"x\"\n", 0o600)
	before := b.tree()
	b.install(Codex)
	trust := "[hooks.state.\"h:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n"
	b.write("home/.codex/config.toml", b.read("home/.codex/config.toml")+"\n"+trust, 0o600)
	b.uninstall(Codex)
	before["home/.codex/config.toml"] = "-rw-------\nmodel = \"x\"\n\n" + trust
	b.wantTree(before)
}

// A new version at another path is installed over files that the user has
// edited meanwhile: uninstall goes back to the user's version.
func TestUpgradeAfterAnEditGoesBackToTheUsersVersion(t *testing.T) {
	for _, existed := range []bool{true, false} {
		b := newBox(t)
		if existed {
			b.write("home/.claude.json", "{\n  \"mcpServers\": {}\n}\n", 0o644)
		}
		before := b.tree()
		b.install(Claude)
		b.edit("home/.claude.json", "\"mcpServers\": {", "\"mcpServers\": {\n    \"mine\": {\"command\": \"m\"},")
		b.write("opt/c2c", "", 0o755)
		b.o.Binary = b.path("opt/c2c")
		b.install(Claude)
		if !strings.Contains(b.read("home/.claude.json"), b.o.Binary) {
			t.Error("the entry still has the old path")
		}
		b.uninstall(Claude)
		before["opt"], before["opt/c2c"] = "drwxr-xr-x", "-rwxr-xr-x\n"
		before["home/.claude.json"] = b.tree()["home/.claude.json"]
		if got := b.read("home/.claude.json"); got != "{\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"m\"}\n  }\n}\n" {
			t.Errorf(".claude.json is %q", got)
		}
		b.wantTree(before)
	}
}

func TestUpgradeWithoutAnEditGoesBackToTheOriginal(t *testing.T) {
	for _, client := range client.Names() {
		b := newBox(t)
		b.write("opt with space/c2c", "", 0o755)
		before := b.tree()
		b.install(client)
		b.o.Binary = b.path("opt with space/c2c")
		b.o.HookScript = []byte("#!/bin/sh\n# newer\n")
		if b.plan(client).Empty() {
			t.Errorf("%s: the new path changes nothing", client)
		}
		b.install(client)
		b.uninstall(client)
		b.wantTree(before)
	}
}

// The file was made for the flag, and the person has added to it since.
func TestAFlagOfOursGoesFromAFileThatOthersEdited(t *testing.T) {
	b := newBox(t)
	b.install(Copilot)
	b.write("home/.copilot/settings.json", strings.Replace(b.read("home/.copilot/settings.json"), "{", "{\n  \"theme\": \"dark\",", 1), 0o600)
	b.uninstall(Copilot)
	if got := b.read("home/.copilot/settings.json"); strings.Contains(got, "Flags") || !strings.Contains(got, `"theme": "dark"`) {
		t.Errorf("settings.json is %q", got)
	}
}

func TestUninstallWithoutRecordsRemovesOnlyOurs(t *testing.T) {
	for _, client := range client.Names() {
		b := newBox(t)
		b.write("home/.claude/settings.json", "{\"a\": 1}\n", 0o600)
		b.write("home/.codex/config.toml", "a = 1\n", 0o600)
		b.write("home/.copilot/hooks/other.json", "{}", 0o600)
		// Nothing tells who has set the flag, so it stays.
		b.write("home/.copilot/settings.json", "{\"enabledFeatureFlags\": {\"EXTENSIONS\": true}}\n", 0o600)
		b.write("home/.kimi-code/config.toml", "a = 1\n", 0o600)
		_, targets, err := findSetup(client, b.o)
		for _, target := range targets {
			below, rerr := filepath.Rel(b.dir, target.path)
			err = errors.Join(err, rerr)
			b.write(filepath.Join(filepath.Dir(below), "mine"), "x", 0o600) // nothing tells who has made an empty folder
		}
		if err != nil {
			t.Fatal(err)
		}
		before := b.tree()
		b.install(client)
		if err := os.RemoveAll(b.path("home/.local")); err != nil {
			t.Fatal(err)
		}
		b.uninstall(client)
		b.wantTree(before)
	}
}

func TestUninstallReachesOtherProjects(t *testing.T) {
	b := newBox(t)
	b.write("second/x", "", 0o600)
	before := b.tree()
	for _, client := range []string{Claude, OpenCode} {
		b.o.InProject, b.o.Project = true, b.path("project")
		b.install(client)
		b.o.Project = b.path("second")
		b.install(client)
		b.o.InProject = false
		b.uninstall(client)
		b.wantTree(before)
	}
}

func TestUninstallOfOneClientLeavesTheOther(t *testing.T) {
	b := newBox(t)
	before := b.tree()
	b.install(Codex)
	withCodex := b.tree()
	b.install(Claude)
	b.uninstall(Claude)
	for name, want := range withCodex {
		if got := b.tree()[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	b.uninstall(Codex)
	b.wantTree(before)
}

func TestEditedScriptIsLeftWithANote(t *testing.T) {
	b := newBox(t)
	b.install(Claude)
	script := "home/.claude/hooks/" + scriptName
	b.edit(script, "exit 0", "exit 0 # mine")
	p := b.uninstall(Claude)
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], scriptName) {
		t.Errorf("notes are %q", p.Notes)
	}
	if got := b.read(script); !strings.Contains(got, "# mine") {
		t.Errorf("the script is %q", got)
	}
}

func TestLinkedConfigStaysALink(t *testing.T) {
	for _, dangling := range []bool{false, true} {
		b := newBox(t)
		b.write("home/.claude/x", "", 0o600)
		b.write("dotfiles/x", "", 0o600)
		if !dangling {
			b.write("dotfiles/settings.json", "{\"a\": 1}\n", 0o640)
		}
		if err := os.Symlink("../../dotfiles/settings.json", b.path("home/.claude/settings.json")); err != nil {
			t.Fatal(err)
		}
		before := b.tree()
		b.install(Claude)
		if !strings.Contains(b.read("dotfiles/settings.json"), scriptName) {
			t.Error("the link's target has no hooks")
		}
		b.uninstall(Claude)
		b.wantTree(before)
	}
}

func TestApplyRefusesAFileThatChanged(t *testing.T) {
	b := newBox(t)
	b.write("home/.claude/settings.json", "{}", 0o600)
	p := b.plan(Claude)
	b.write("home/.claude/settings.json", `{"a": 1}`, 0o600)
	before := b.tree()
	if err := p.Apply(); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "settings.json") {
		t.Errorf("Apply returns %v", err)
	}
	b.wantTree(before)
}

// The last file of the plan cannot be written: what came before is put back.
func TestApplyRollsBack(t *testing.T) {
	b := newBox(t)
	b.write("home/.claude/settings.json", "{}", 0o640)
	p := b.plan(Claude)
	last := &p.Changes[len(p.Changes)-1]
	b.write("home/blocker", "", 0o600)
	last.Path, last.Target = b.path("home/blocker/.mcp.json"), b.path("home/blocker/.mcp.json")
	before := b.tree()
	if err := p.Apply(); err == nil {
		t.Error("Apply returns no error")
	}
	b.wantTree(before)
}

func TestBrokenConfigIsNamedAndNothingIsWritten(t *testing.T) {
	for _, c := range []struct{ client, name, text, want string }{
		{Claude, "home/.claude/settings.json", "{\n  \"a\": 1,\n  oops\n}", "line 3"},
		{Claude, "home/.claude/settings.json", "[]", "line 1: the whole is not an object"},
		{Claude, "home/.claude/settings.json", "{\n\"hooks\": []}", `line 2: "hooks" is not an object`},
		{Claude, "home/.claude/settings.json", "{\"hooks\": {\n\n\"Stop\": 1}}", `line 3: "Stop" is not an array`},
		{Claude, "home/.claude/settings.json", "{\"hooks\": {},\n\"hooks\": {}}", `line 2: second member "hooks"`},
		{Claude, "home/.claude.json", `{"mcpServers": {"c2c": `, "line 1"},
		{Codex, "home/.codex/config.toml", "a = 1\nb = [1,\n", "line 2: unclosed array value"},
		{Codex, "home/.codex/config.toml", "a = 1\n[x\n", `line 2: got line break, wanted "]"`},
		{Codex, "home/.codex/config.toml", "a = 1\n  b = = 2\n", `line 2: got "="`},
		{Codex, "home/.codex/config.toml", "\n[x] y = 1\n", "line 2"},
		{Codex, "home/.codex/config.toml", "a = 'x\n", "line 1"},
		{Codex, "home/.codex/config.toml", "mcp_servers = {}\n", "line 1: mcp_servers is written as one value"},
		{Codex, "home/.codex/config.toml", "[mcp_servers.c2c]\n[mcp_servers.c2c]\n", "line 2: mcp_servers.c2c is defined twice"},
		{Codex, "home/.codex/hooks.json", "{", "line 1"},
	} {
		b := newBox(t)
		b.write(c.name, c.text, 0o600)
		before := b.tree()
		_, err := PlanInstall(c.client, b.o)
		for _, err := range append(b.uninstall(c.client).Left, err) {
			if err == nil || !strings.Contains(err.Error(), b.path(c.name)) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "run again") {
				t.Errorf("%s with %q: error %v, want %q", c.name, c.text, err, c.want)
			}
		}
		b.wantTree(before)
	}
}

// All but the damaged file is as before, and when that is mended the next uninstall completes it.
func TestUninstallUndoesAllButADamagedFile(t *testing.T) {
	for _, name := range []string{"home/.claude.json", "home/.claude/settings.json", "project/.mcp.json"} {
		b := newBox(t)
		b.write("home/.claude.json", "{\n  \"mine\": 1\n}\n", 0o600)
		b.write("home/.claude/settings.json", "{\n  \"mine\": 1\n}\n", 0o600)
		b.write("project/.mcp.json", "{\n  \"mine\": 1\n}\n", 0o600)
		before := b.tree()
		b.o.InProject = strings.HasPrefix(name, "project")
		b.install(Claude)
		installed, script := b.tree(), "home/.claude/hooks/"+scriptName
		b.edit(name, `"mine": 1`, `"mine": `)
		damaged := b.tree()[name]
		p := b.uninstall(Claude)
		if len(p.Left) != 1 || !strings.Contains(p.Left[0].Error(), b.path(name)) {
			t.Errorf("%s: it tells of %v", name, p.Left)
		}
		for file, now := range b.tree() {
			switch {
			case strings.HasPrefix(file, "home/.local"), strings.HasPrefix(file, filepath.Dir(script)) && strings.HasSuffix(name, "settings.json"):
			case file == name && now != damaged, file != name && now != before[file]:
				t.Errorf("%s is damaged: %s is\n%s", name, file, now)
			}
		}
		if got := b.tree()[script]; (got == installed[script]) != strings.HasSuffix(name, "settings.json") {
			t.Errorf("%s is damaged: the script, which the hooks name, is %q", name, got)
		}
		b.edit(name, `"mine": `, `"mine": 1`)
		if p := b.uninstall(Claude); p.Left != nil {
			t.Error(p.Left)
		}
		b.wantTree(before)
	}
}

// In a file that the client has written to since, as Claude Code does at each start.
func TestUninstallKeepsAnEntryOfThePersons(t *testing.T) {
	for _, own := range []string{`{"command": "mine", "args": ["serve"] /* why */}`, `{"command": "/x/c2c", "args": ["mcp"]}`} {
		for _, global := range []bool{false, true} { // whether install has replaced it
			b := newBox(t)
			text := "{\n  \"mcpServers\": {\n    \"c2c\": " + own + "\n  }\n}\n"
			b.write("home/.claude.json", text, 0o600)
			b.o.InProject = !global
			before := b.tree()
			b.install(Claude)
			if !global { // before anything was recorded, too
				b.write("home/.claude.json", strings.Replace(text, "{", `{"starts": 1,`, 1), 0o600)
			} else {
				b.edit("home/.claude.json", "{\n  \"mcp", "{\"starts\": 1,\n  \"mcp")
			}
			b.uninstall(Claude)
			b.edit("home/.claude.json", `"starts": 1,`, "")
			b.wantTree(before)
			b.uninstall(Claude) // nothing is known any more
			b.wantTree(before)
		}
	}
}

// Where c2c's was once, and where nothing tells what was there.
func TestUninstallKeepsWhatAPersonHasPutInThePlaceOfOurs(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		b := newBox(t)
		if recorded {
			b.install(Claude)
			b.install(Codex)
		}
		mcp := `{"mcpServers": {"c2c": {"command": "mine", "env": {"C2C_MCP_CLIENT_TYPE": "x"}}}}`
		b.write("home/.claude.json", mcp, 0o600)
		toml := "[mcp_servers.c2c]\ncommand = \"mine\"\nenv = {}\n"
		b.write("home/.codex/config.toml", toml, 0o600)
		b.uninstall(Claude)
		b.uninstall(Codex)
		if got := b.read("home/.claude.json"); got != mcp {
			t.Errorf(".claude.json is %s", got)
		}
		if got := b.read("home/.codex/config.toml"); got != toml {
			t.Errorf("config.toml is %s", got)
		}
	}
	b := newBox(t)
	b.write("home/.codex/config.toml", "[mcp_servers.c2c]\ncommand = \"/x/c2c\"\nargs = [\"mcp\"]\n", 0o600)
	before := b.tree()
	b.uninstall(Codex)
	b.wantTree(before)
}

func TestReadOnlyAndStrangeFilesAreRefused(t *testing.T) {
	b := newBox(t)
	b.write("home/.claude/settings.json", "{}", 0o444)
	if _, err := PlanInstall(Claude, b.o); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("read-only file: %v", err)
	}
	b = newBox(t)
	b.write("home/.claude/settings.json/x", "", 0o600)
	if _, err := PlanInstall(Claude, b.o); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}
	b = newBox(t)
	if _, err := PlanInstall("vim", b.o); err == nil {
		t.Error("an unknown client is accepted")
	}
	b.o.Binary = "c2c"
	if _, err := PlanInstall(Codex, b.o); err == nil {
		t.Error("a relative binary is accepted")
	}
}

func TestConfigDirectoriesComeFromTheEnvironment(t *testing.T) {
	b := newBox(t)
	b.env["CLAUDE_CONFIG_DIR"], b.env["CODEX_HOME"] = b.path("cc"), b.path("cx")
	before := b.tree()
	b.install(Claude)
	b.install(Codex)
	for _, name := range []string{"cc/settings.json", "cc/.claude.json", "cc/hooks/" + scriptName, "cx/config.toml", "cx/hooks.json"} {
		b.read(name)
	}
	if got := b.tree()["cc/hooks/"+scriptName]; got != "-rwxr-xr-x\n"+testScript {
		t.Errorf("the script is %q", got)
	}
	b.uninstall(Claude)
	b.uninstall(Codex)
	b.wantTree(before)
}

// Somebody has two configurations of one client: each is set up, and taken out, by itself.
func TestTwoConfigurationsOfAClientAreSetUpApart(t *testing.T) {
	for client, variable := range map[string]string{Claude: "CLAUDE_CONFIG_DIR", Codex: "CODEX_HOME"} {
		b := newBox(t)
		before := b.tree()
		b.install(client)
		first := b.tree()
		b.env[variable] = b.path("second")
		b.install(client)
		delete(b.env, variable)
		if p := b.plan(client); !p.Empty() || p.OneOf() == "" {
			t.Errorf("%s: the second install has changed the first:\n%s", client, p.Diff(true))
		}
		b.env[variable] = b.path("second")
		b.uninstall(client)
		for name, want := range first {
			if got := b.tree()[name]; got != want && !strings.Contains(name, "undo.json") {
				t.Errorf("%s: %s is %q, want %q", client, name, got, want)
			}
		}
		delete(b.env, variable)
		if p := b.uninstall(client); p.OneOf() != "" {
			t.Errorf("%s: the last one counts as one of two", client)
		}
		b.wantTree(before)
	}
}

func TestDetect(t *testing.T) {
	b := newBox(t)
	if got := Detect(b.o); got != nil {
		t.Errorf("found %q in an empty home", got)
	}
	b.write("home/.claude/x", "", 0o600)
	b.write("bin/codex", "", 0o755)
	b.write("bin/cursor", "", 0o755) // opens an editor
	if got := Detect(b.o); !slices.Equal(got, []string{Claude, Codex}) {
		t.Errorf("found %q", got)
	}
	b.write("bin/cursor-agent", "", 0o755)
	if got := Detect(b.o); !slices.Equal(got, []string{Claude, Codex, Cursor}) {
		t.Errorf("found %q", got)
	}
}

func TestInspect(t *testing.T) {
	problems := func(b *box, client string) (all []string) {
		found, err := Inspect(client, b.o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Status != format.OK || f.Part == PartNone {
				all = append(all, f.Part)
			}
		}
		return all
	}
	events := []string{"hook SessionStart", "hook UserPromptSubmit", "hook PostToolUse", "hook Stop"}
	check := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("problems are %q, want %q", got, want)
		}
	}
	b := newBox(t)
	for _, client := range client.Names() {
		check(problems(b, client), "c2c")
	}
	b.install(Copilot)
	check(problems(b, Copilot))
	b.write("home/.copilot/settings.json", `{"enabledFeatureFlags":{"EXTENSIONS":false}}`, 0o600)
	check(problems(b, Copilot), "flag")
	b.uninstall(Copilot)
	b.write("home/.copilot/settings.json", `{"enabledFeatureFlags":{"EXTENSIONS":true}}`, 0o600)
	check(problems(b, Copilot), "c2c") // the flag is the person's
	status := func(want format.Status) {
		t.Helper()
		if found, err := Inspect(Claude, b.o); err != nil || len(found) != 1 || found[0].Status != want {
			t.Errorf("found %v, %v, want one %s", found, err, want)
		}
	}
	status(format.OK) // nobody wanted it
	b.install(Claude)
	for _, name := range []string{"home/.claude", "home/.claude.json"} {
		if err := os.RemoveAll(b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	status(format.Problem)
	b.uninstall(Claude)
	status(format.OK)
	b.write("home/.codex/hooks.json", "{", 0o600)
	check(problems(b, Codex), "mcp server", "hooks", "skill")
	b.write("home/.codex/hooks.json", "{}", 0o600)
	b.install(Claude)
	b.install(Codex)
	check(problems(b, Claude))
	check(problems(b, Codex), "hook trust")

	trust := ""
	for _, e := range []string{"session_start", "user_prompt_submit", "post_tool_use", "stop", "pre_tool_use"} {
		trust += "[hooks.state.\"" + b.path("home/.codex/hooks.json") + ":" + e + ":0:0\"]\ntrusted_hash = \"sha256:1\"\n"
	}
	b.write("home/.codex/config.toml", b.read("home/.codex/config.toml")+trust, 0o600)
	check(problems(b, Codex))

	if found, _ := Inspect(Claude, b.o); !slices.ContainsFunc(found, func(f format.Finding) bool { return f.Detail == b.path("home/.claude/hooks/"+scriptName) }) {
		t.Errorf("one event's word is told of all: %+v", found)
	}
	if err := os.Chmod(b.path("home/.claude/hooks/"+scriptName), 0o600); err != nil {
		t.Fatal(err)
	}
	check(problems(b, Claude), slices.Concat(slices.Insert(slices.Clone(events), 3, "hook PreToolUse"), []string{"hook StopFailure", "hook FileChanged", "hook script"})...)
	if b.install(Claude); len(problems(b, Claude)) != 0 {
		t.Error("install does not repair the mode")
	}
	for _, name := range []string{"hooks/c2c.js", "hooks/hooks.json", ".claude-plugin/plugin.json"} {
		if err := os.Remove(b.path("home/.claude/skills/c2c/" + name)); err != nil {
			t.Fatal(err)
		}
		check(problems(b, Claude), "mod")
		b.install(Claude)
	}
	b.write("project/.claude/settings.local.json", `{"disabledMcpjsonServers": ["other", "c2c"]}`, 0o600)
	check(problems(b, Claude)) // that is for servers of a project
	b.install(OpenCode)
	if err := os.RemoveAll(b.path("home/.config/opencode/plugins")); err != nil {
		t.Fatal(err)
	}
	check(problems(b, OpenCode), "plugin")
	if err := os.Remove(b.path("bin/c2c")); err != nil {
		t.Fatal(err)
	}
	check(problems(b, Claude), "mcp server")
	check(problems(b, Codex), slices.Concat([]string{"mcp server"}, events, []string{"hook PreToolUse"})...)
	b.write("project/.mcp.json", "{", 0o600)
	check(problems(b, Claude), "mcp server", "mcp server")
}

// As one that was set up in a project, seen from another.
func TestASetUpOfAnotherProjectIsNoProblemHere(t *testing.T) {
	b := newBox(t)
	b.o.InProject = true
	b.install(Claude)
	b.o.InProject, b.o.Project = false, b.path("home") // as doctor looks, where nobody asked for it
	if found, err := Inspect(Claude, b.o); err != nil || found[0].Part != partServer || found[0].Status != format.Warning || !strings.Contains(found[0].Detail, "there is no entry in this project") {
		t.Errorf("in another project: %v, %v", found, err)
	}
}

// However its person has broken the lines of a file: what an install wrote the next one leaves
// alone.
func TestASecondInstallChangesNothing(t *testing.T) {
	for _, text := range []string{"{}", "{ }", `{"model":"x"}`, `{"mcp":{}}`, "{\"mcp\":{\n \"x\":{}}}", "{\"model\":\"x\" // mine\n}", `{"model":"x",}`,
		"{\"mcp\":{\"x\":{\"command\":[\"a\",\n\"b\"]}}}", "// mine\n{\"model\":\"x\"}", "{\"a\":1,\"b\":2,\n\"c\":3}"} {
		b := newBox(t)
		b.write("home/.config/opencode/opencode.json", text+"\n", 0o600)
		b.install(OpenCode)
		if p := b.plan(OpenCode); !p.Empty() {
			t.Errorf("after %s: %s", text, p.Diff(true))
		}
	}
}

// A broken file of a project in which nothing is ours is no news, and none of ours.
func TestABrokenProjectFileOfNobodysIsNotSaidToHaveC2C(t *testing.T) {
	for text, told := range map[string]bool{`{"mcpServers": {`: false, `{"mcpServers": {"c2c": `: true} {
		b := newBox(t)
		b.write("project/.mcp.json", text, 0o600)
		if notes := strings.Join(b.plan(Claude).Notes, "; "); strings.Contains(notes, "still set up in a project") != told {
			t.Errorf("%s: %q", text, notes)
		}
	}
}

// What an earlier install has put into single projects goes when c2c is set up for all. What its
// owner has there stays.
func TestAnInstallForAllProjectsTakesOverThoseOfSingleOnes(t *testing.T) {
	mine := "{\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"m\"}\n  }\n}\n"
	for _, client := range []string{Claude, OpenCode} {
		b := newBox(t)
		b.write("second/.mcp.json", mine, 0o644)
		b.write("second/.opencode/x", "", 0o644)
		b.write("gone/x", "", 0o644)
		b.write("damaged/x", "", 0o644)
		before := b.tree()
		b.o.InProject = true
		for _, project := range []string{"project", "second", "gone", "damaged"} {
			b.o.Project = b.path(project)
			b.install(client)
		}
		b.o.Project = b.path("home")
		if err := os.RemoveAll(b.path("gone")); err != nil {
			t.Fatal(err)
		}
		damaged := map[string]string{Claude: "damaged/.mcp.json", OpenCode: "damaged/.opencode/opencode.json"}[client]
		b.write(damaged, "{", 0o644)
		b.o.InProject = false
		p := b.plan(client)
		if len(p.Moved) < 2 || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, damaged) }) {
			t.Errorf("%s: taken out of %q, it tells %q", client, p.Moved, p.Notes)
		}
		if err := p.Apply(); err != nil {
			t.Fatal(err)
		}
		now := b.tree()
		for name, want := range before {
			if strings.HasPrefix(name, "project") || strings.HasPrefix(name, "second") {
				if now[name] != want {
					t.Errorf("%s: %s is %q, want %q", client, name, now[name], want)
				}
				delete(now, name)
			}
		}
		for name := range now {
			if strings.HasPrefix(name, "project") || strings.HasPrefix(name, "second") {
				t.Errorf("%s: %s is left", client, name)
			}
		}
		if err := os.RemoveAll(b.path("damaged")); err != nil {
			t.Fatal(err)
		}
		if p := b.plan(client); !p.Empty() || p.Notes != nil {
			t.Errorf("%s: the next install still wants\n%s%q", client, p.Diff(true), p.Notes)
		}
		b.uninstall(client)
		for name := range b.tree() {
			if _, there := before[name]; !there {
				t.Errorf("%s: uninstall leaves %s", client, name)
			}
		}
	}
}

func TestAProjectIsNotSetUpBesideAllProjects(t *testing.T) {
	b := newBox(t)
	b.install(Claude)
	b.o.InProject = true
	if _, err := PlanInstall(Claude, b.o); err == nil || !strings.Contains(err.Error(), "c2c uninstall claude") {
		t.Errorf("%v", err)
	}
}

// Claude Code and OpenCode look for these files in the directory of a session and above it.
func TestAProjectIsSetUpAtItsTop(t *testing.T) {
	b := newBox(t)
	b.write("project/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	b.write("project/deep/down/x", "", 0o644)
	b.o.InProject, b.o.Project = true, b.path("project/deep/down")
	b.install(Claude)
	b.install(OpenCode)
	b.read("project/.mcp.json")
	b.read("project/.opencode/opencode.json")
}

// Where a client has a rule for it, its model calls c2c's tools without asking. A person who takes
// the rule out, or says --ask, is asked from then on, also after an update.
func TestWhoWantsToBeAskedStaysAsked(t *testing.T) {
	for client, rule := range map[string][2]string{
		Claude: {"home/.claude/settings.json", ruleOfTools + `"`}, Codex: {"home/.codex/config.toml", codexApproval},
		Copilot: {"home/.copilot/hooks/c2c.json", "PermissionRequest"},
		Qwen:    {"home/.qwen/settings.json", `"trust": true`}, Gemini: {"home/.gemini/settings.json", `"trust": true`},
	} {
		b := newBox(t)
		before := b.tree()
		wants := func(what string, rules bool) {
			t.Helper()
			p := b.plan(client)
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.read(rule[0]), rule[1]) != rules || p.AllowsTools(b.o) != rules || strings.Contains(p.Outcome(b.o), "it asks before") == rules {
				t.Errorf("%s: %s: it tells %q, and the file is\n%s", client, what, p.Outcome(b.o), b.read(rule[0]))
			}
		}
		wants("the first install", true)
		b.o.Ask = true
		wants("--ask", false)
		b.o.Ask = false
		wants("the next install", false)
		b.write("opt/c2c", "", 0o755)
		b.o.Binary = b.path("opt/c2c")
		wants("after an update", false)
		b.uninstall(client)
		wants("a new install", true)
		b.uninstall(client)
		before["opt"], before["opt/c2c"] = "drwxr-xr-x", "-rwxr-xr-x\n"
		b.wantTree(before)
	}
}

// What Codex has noted of our hooks goes with them, and what it has noted of others stays.
func TestUninstallTakesOutTheReviewOfOurHooks(t *testing.T) {
	note := func(b *box, place string) string {
		return "\n[hooks.state.\"" + b.path("home/.codex/hooks.json") + ":" + place + "\"]\ntrusted_hash = \"sha256:1\"\n"
	}
	ours := []string{"session_start:0:0", "user_prompt_submit:0:0", "post_tool_use:0:0", "stop:1:0"}
	for _, others := range []bool{false, true} {
		b := newBox(t)
		b.write("home/.codex/config.toml", "model = \"x\"\n", 0o600)
		b.write("home/.codex/hooks.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}`, 0o600)
		before := b.tree()
		b.install(Codex)
		text, rest := b.read("home/.codex/config.toml")+"\n[hooks.state]\n", ""
		if others {
			rest = "\n[hooks.state]\n" + note(b, "stop:0:0")
			text += note(b, "stop:0:0")
		}
		for _, place := range ours {
			text += note(b, place)
		}
		b.write("home/.codex/config.toml", text, 0o600)
		b.uninstall(Codex)
		before["home/.codex/config.toml"] += rest
		b.wantTree(before)
	}
}

// As in a settings file that has the server and the hooks of a client.
func TestAPartThatIsMissingBesideAnotherIsTold(t *testing.T) {
	b := newBox(t)
	both := multiEditor{claudeServerEditor(b.o), commandHooks(Codex, b.o, at("Stop"))}
	tg := target{client: Claude, path: "settings.json", editor: both}
	for i, want := range []string{"mcp server hooks", "hook Stop", "mcp server hook Stop", ""} {
		var data []byte
		for k, e := range both {
			if i == 2 || i == k {
				var err error
				if data, err = e.add(tg.path, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		found, err := both.find(&File{Data: data})
		var parts []string
		for _, f := range found.findings(tg, b.o) {
			parts = append(parts, f.Part)
		}
		if got := strings.Join(parts, " "); err != nil || got != want {
			t.Errorf("found %q, %v, want %q", got, err, want)
		}
	}
}
