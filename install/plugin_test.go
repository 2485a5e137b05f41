package install

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/install/confedit"
)

// The plugins of install/marketplace have the server and the hooks that PlanInstall writes, by the
// same editors. `go test ./install -run Marketplace -update` writes them anew.
func TestTheMarketplaceHasWhatInstallWrites(t *testing.T) {
	b := newBox(t)
	o := b.o
	o.Binary = "c2c"
	server := func(client string, more map[string]any) serverEditor {
		more["command"], more["args"], more["env"] = "c2c", []string{"mcp", "--plugin"}, map[string]string{"C2C_MCP_CLIENT_TYPE": client}
		return serverEditor{key: serversKey, entry: more, command: "c2c"}
	}
	codexMore := map[string]any{}
	for _, line := range codexServer(o).lines {
		codexMore[line.key] = json.RawMessage(line.value)
	}
	claudeEvents, codexEvents := claudeHooks("c2c-inbox-check.sh"), codexFiles(o)[0].editor.(hookEditor)
	claudeEvents.command = `[ -e "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/hooks/c2c-inbox-check.sh" ] || exec sh "${CLAUDE_PLUGIN_ROOT}/hooks/c2c-inbox-check.sh"`
	codexEvents.command = `grep -qs "hook --client codex" "${CODEX_HOME:-$HOME/.codex}/hooks.json" || exec ` + codexEvents.command
	script, err := os.ReadFile("../hooks/c2c-inbox-check.sh")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/for-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(skill, []byte("\n---\n"))
	skill := slices.Concat(head, []byte("\n---\n"), page)
	for name, e := range map[string]editor{
		"claude/.mcp.json":                server(Claude, map[string]any{"alwaysLoad": true}),
		"claude/hooks/hooks.json":         claudeEvents,
		"claude/hooks/c2c-inbox-check.sh": scriptEditor{part: "script", content: script},
		"codex/.mcp.json":                 server(Codex, codexMore),
		"codex/hooks/hooks.json":          codexEvents,
		"claude/skills/c2c/SKILL.md":      scriptEditor{part: "skill", content: skill},
		"codex/skills/c2c/SKILL.md":       scriptEditor{part: "skill", content: skill},
	} {
		path := filepath.Join("marketplace", filepath.FromSlash(name))
		want, err := e.add(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, is\n%s\nwant\n%s", path, err, got, want)
		}
	}
	for _, name := range []string{"claude/.claude-plugin/plugin.json", "codex/.codex-plugin/plugin.json"} {
		data, err := os.ReadFile(filepath.Join("marketplace", name))
		if version := confedit.Text(confedit.Member(data, "version")); err != nil || "v"+version != broker.Version {
			t.Errorf("%s: %v, version %q, c2c has %s", name, err, version, broker.Version)
		}
	}
}

func TestWhereThePluginIsOnInstallChangesNothing(t *testing.T) {
	for client, file := range map[string][3]string{
		Claude: {"home/.claude/settings.json", `{"enabledPlugins": {"c2c@c2c": true}}`, `{"enabledPlugins": {"c2c@c2c": false}}`},
		Codex:  {"home/.codex/config.toml", "[plugins.\"c2c@c2c\"]\nenabled = true\n", "[plugins.\"c2c@c2c\"]\nenabled = false\n"},
	} {
		b := newBox(t)
		b.write(file[0], file[1], 0o600)
		if p := b.plan(client); !p.Empty() || len(p.Notes) != 1 {
			t.Errorf("%s: the plan is\n%s%q", client, p.Diff(true), p.Notes)
		}
		// The plugin's hooks are reviewed by their person, too.
		want := map[string]string{Codex: "hook trust"}[client]
		got := ""
		for _, f := range problemsOf(t, b, client) {
			got += f.Part
		}
		if got != want || HasServer(client, b.o) {
			t.Errorf("%s: doctor finds %q, want %q", client, got, want)
		}
		b.write(file[0], file[2], 0o600)
		if b.install(client); !HasServer(client, b.o) {
			t.Errorf("%s: the plugin is off, and nothing is installed", client)
		}
		b.write(file[0], strings.Replace(b.read(file[0]), "false", "true", 1), 0o600)
		if p := b.plan(client); !p.Empty() || len(p.Notes) > 0 {
			t.Errorf("%s: with both the plan is\n%s%q", client, p.Diff(true), p.Notes)
		}
		found := problemsOf(t, b, client)
		if last := found[len(found)-1]; last.Part != "plugin" || !strings.Contains(last.Detail, "does nothing because c2c install") {
			t.Errorf("%s: with both doctor finds %+v", client, found)
		}
		part := map[string]string{Claude: "home/.claude/hooks/c2c-inbox-check.sh", Codex: "home/.codex/hooks.json"}[client]
		if err := os.Remove(b.path(part)); err != nil {
			t.Fatal(err)
		}
		if b.plan(client).Empty() {
			t.Errorf("%s: what install has written is not repaired", client)
		}
	}
}
