package install

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// wantShort compares the short diff of a plan with lines that it must have, and those after "!"
// that it must not have.
func (b *box) wantShort(what string, p *Plan, lines ...string) {
	b.t.Helper()
	shown := strings.ReplaceAll(p.Diff(false), b.dir, "$BOX")
	for _, line := range lines {
		if without, unwanted := strings.CutPrefix(line, "!"); strings.Contains("\n"+shown, "\n"+without) == unwanted {
			b.t.Errorf("%s: is %q there? It shows\n%s", what, line, shown)
		}
	}
}

// A person wants to see what changes in their own files, not hundreds of lines of c2c's plugins.
func TestAFileThatIsOurOwnIsShownInOneLine(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const plugin = "$BOX/home/.config/opencode/plugins/c2c.ts"
	length := fmt.Sprintf(" (%d lines, c2c's own)\n", bytes.Count(opencodePlugin, []byte("\n")))
	b.wantShort("new", b.plan(OpenCode), "new file "+plugin+length, "!+import ", "+++ $BOX/home/.config/opencode/opencode.json\n", "+  \"mcp\": {\n")
	b.wantShort("one line", b.plan(Claude), "new file $BOX/home/.claude/skills/c2c/hooks/hooks.json (1 line, c2c's own)\n")
	b.install(OpenCode)
	b.o.Binary = b.path("other/c2c") // as another version would
	b.wantShort("updated", b.plan(OpenCode), "updates "+plugin+", c2c's own file: +1 -1 lines\n", "!+const c2c = ", "+        \"$BOX/other/c2c\",\n")
	if err := os.Chmod(b.path("home/.config/opencode/plugins/c2c.ts"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.wantShort("another mode", b.plan(OpenCode), plugin+": mode 0600 becomes 0644\nupdates "+plugin+", ")
	b.install(OpenCode)
	if err := os.Chmod(b.path("home/.config/opencode/plugins/c2c.ts"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.wantShort("only another mode", b.plan(OpenCode), plugin+": mode 0600 becomes 0644\n", "!updates ")
	p, err := PlanUninstall(OpenCode, b.o)
	if err != nil {
		t.Fatal(err)
	}
	b.wantShort("uninstall", p, "deleted file "+plugin+length, "!-import ")
}

// What a person has written into such a file is lost with the next install: they must see it.
func TestAFileOfOursThatAPersonHasEditedIsShownWhole(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(b *box, plugin string){
		"edited after an install": func(b *box, plugin string) {
			b.install(OpenCode)
			b.edit(plugin, "const patience", "// mine\nconst patience")
		},
		"from an unknown c2c": func(b *box, plugin string) { b.write(plugin, "// mine\n// c2c", 0o644) },
	} {
		b := newBox(t)
		prepare(b, "home/.config/opencode/plugins/c2c.ts")
		b.wantShort(name, b.plan(OpenCode), "+++ $BOX/home/.config/opencode/plugins/c2c.ts\n", "-// mine\n", "!updates ")
	}
}

func TestJSONOnOneLineIsShownIndentedAndStaysOnOneLine(t *testing.T) {
	t.Parallel()
	const file = "home/.gemini/settings.json"
	b := newBox(t)
	b.write(file, `{"ui":{"theme":"dark","hideTips":true},"general":{"vimMode":true},"security":{"auth":{"selectedType":"x"}}}`+"\n", 0o600)
	before := b.tree()
	want := []string{"$BOX/" + file + " stays on one line; it is shown indented here\n", "+  \"mcpServers\": {\n", "!-{", "!+{", "!-  \"ui\"", "!+  \"ui\""}
	b.wantShort("install", b.plan(Gemini), want...)
	b.install(Gemini)
	if text := b.read(file); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"mcpServers": {"c2c":{`) {
		t.Errorf("it writes\n%s", text)
	}
	p, err := PlanUninstall(Gemini, b.o)
	if err != nil {
		t.Fatal(err)
	}
	b.wantShort("uninstall", p, strings.Replace(want[1], "+", "-", 1), want[0], "!-{", "!+{")
	b.uninstall(Gemini)
	b.wantTree(before)

	b.write(file, `{"ui":{}} // mine`+"\n", 0o600) // with comments no indented form is known
	b.wantShort("comments", b.plan(Gemini), "!$BOX/"+file+" stays", "-{\"ui\":{}} // mine\n", "+{\"ui\":{},")
	b.write(file, "{}", 0o600)
	b.wantShort("an empty object", b.plan(Gemini), "!$BOX/"+file+" stays", "-{}\n", "+{\n")
}
