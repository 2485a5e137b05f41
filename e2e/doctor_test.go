package e2e

import (
	"strings"
	"testing"

	"c2c/broker/client"
	"c2c/e2e/lab"
)

// It finds the version of each real client where npm has put it, and runs none of them in its person's home.
func TestDoctorKnowsTheVersionsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	before := tree(t, []string{"/.git/"}, l.Home, l.Project)
	for _, g := range client.Guides() {
		l.Run(c2c(), "install", g.Client)
	}
	installed := tree(t, []string{"/.git/"}, l.Home, l.Project)
	// Its status is 1: nobody has trusted the hooks of these clients yet.
	out := l.Terminal(l.Env(), "sh", "-c", c2c()+" doctor; true").Wait()
	for _, g := range client.Guides() {
		if g.Package == "" {
			continue // it cannot be run
		}
		version := l.Version(lab.Client(g.Client))
		want := g.Client + " program: version " + version + ", which c2c was tested with"
		if version != g.Tested { // make certify
			want = g.Client + " program: version " + version + " was not tried with c2c"
		}
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	compareTrees(t, installed, tree(t, []string{"/.git/"}, l.Home, l.Project))
	for _, g := range client.Guides() {
		l.Run(c2c(), "uninstall", g.Client)
	}
	compareTrees(t, before, tree(t, []string{"/.git/", "/.c2c/"}, l.Home, l.Project))
}

// Claude Code (2.1.329) keeps the answer to its question in that file.
func TestDoctorTellsWhetherClaudeHasApprovedTheServer(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(map[string]any{"enableAllProjectMcpServers": false})
	l.Run(c2c(), "install", "claude")
	for settings, asks := range map[string]bool{`{}`: true, `{"enabledMcpjsonServers": ["c2c"]}`: false} {
		l.WriteProject(".claude/settings.local.json", settings)
		if out, _ := l.Try(c2c(), "doctor"); strings.Contains(out, "claude approval: not yet approved") != asks {
			t.Errorf("%s:\n%s", settings, out)
		}
		p := l.Terminal(l.ClaudeEnv(model), "sh", "-c", "exec claude")
		if got := p.WaitShown("New MCP server found", "shift+tab to cycle", "? for shortcuts"); (got == 0) != asks {
			t.Errorf("%s: it asks: %v", settings, got == 0)
		}
		p.Kill()
	}
}

// In a folder that its person does not trust Qwen Code (0.24.4) starts no MCP server.
func TestDoctorTellsThatQwenDoesNotTrustTheFolder(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedQwen(map[string]any{"security": map[string]any{"folderTrust": map[string]any{"enabled": true}}})
	l.Run(c2c(), "install", "qwen")
	for _, rule := range []string{"DO_NOT_TRUST", "TRUST_FOLDER"} {
		told := rule == "DO_NOT_TRUST"
		l.Write(".qwen/trustedFolders.json", `{"`+l.Project+`": "`+rule+`"}`)
		out, _ := l.Try(c2c(), "doctor")
		if strings.Contains(out, "qwen folder trust: qwen was told not to trust") != told {
			t.Errorf("%s:\n%s", rule, out)
		}
		l.QwenPrompt(model, "prompt-"+rule).Wait()
		if r := model.WaitText("prompt-" + rule); (len(r.Find("c2c carries messages")) > 0) == told {
			t.Errorf("%s: what it says of the server: %v", rule, r.Find("c2c"))
		}
	}
}
