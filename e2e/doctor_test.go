package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/client"
	"c2c/e2e/lab"
)

// It finds the version of each real client where npm has put it, and runs none of them in its
// person's home.
func TestDoctorKnowsTheVersionsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	before := tree(t, []string{"/.git/"}, l.Home, l.Project)
	for _, p := range client.All() {
		l.Run(c2c(), "install", p.Name)
	}
	installed := tree(t, []string{"/.git/"}, l.Home, l.Project)
	// Its status is 1: nobody has trusted the hooks of these clients yet.
	out := l.Terminal(l.Env(), "sh", "-c", c2c()+" doctor --verbose; true").Wait()
	for _, p := range client.All() {
		if p.Package == "" {
			continue // it cannot be run
		}
		want := p.Name + " program: version " + l.Version(lab.Client(p.Name)) + "; c2c was tested with " + p.Tested
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	compareTrees(t, installed, tree(t, []string{"/.git/"}, l.Home, l.Project))
	for _, p := range client.All() {
		l.Run(c2c(), "uninstall", p.Name)
	}
	compareTrees(t, before, tree(t, []string{"/.git/", "/.c2c/"}, l.Home, l.Project))
}

// Claude Code (2.1.329) keeps the answer to its question in that file.
func TestDoctorTellsWhetherClaudeHasApprovedTheServer(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(map[string]any{"enableAllProjectMcpServers": false})
	l.Run(c2c(), "install", "--project", "claude")
	for settings, asks := range map[string]bool{`{}`: true, `{"enabledMcpjsonServers": ["c2c"]}`: false} {
		l.WriteProject(".claude/settings.local.json", settings)
		if out, _ := l.Try(c2c(), "doctor", "--verbose"); strings.Contains(out, "claude approval: not yet approved") != asks {
			t.Errorf("%s:\n%s", settings, out)
		}
		p := l.Terminal(l.ClaudeEnv(model), "sh", "-c", "exec claude")
		if got := p.WaitShown("New MCP server found", "shift+tab to cycle", "? for shortcuts"); (got == 0) != asks {
			t.Errorf("%s: it asks: %v", settings, got == 0)
		}
		p.Kill()
	}
}

// What a person, a project or an administrator has turned off: the client (2.1.329) keeps to it,
// and doctor tells.
func TestDoctorTellsWhatKeepsClaudeFromC2C(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	// The client reads the policy in /etc, of which this one gets a copy of its own.
	l.Run("sh", "-c", `cp -a /etc "$HOME/etc" && mkdir -p "$HOME/etc/claude-code/managed-settings.d"`)
	trusted := l.Read(".claude.json")
	const tools, hooks = 1, 2
	for _, is := range []struct {
		file, text, says string
		works            int
	}{
		{"proj/.claude/settings.json", `{"permissions": {"deny": ["mcp__c2c__*"]}}`, "claude permissions: permissions.deny has mcp__c2c__*", hooks},
		{"proj/.claude/settings.local.json", `{"allowedMcpServers": [{"serverName": "other"}]}`, "claude approval: allowedMcpServers does not name c2c", hooks},
		{"home/.claude.json", strings.Replace(trusted, `"hasTrust`, `"disabledMcpServers": ["c2c"], "hasTrust`, 1), "claude approval: c2c is disabled", hooks},
		{"home/etc/claude-code/managed-settings.d/us.json", `{"deniedMcpServers": [{"serverName": "c2c"}]}`, "claude approval: deniedMcpServers names c2c", hooks},
		{"home/etc/claude-code/managed-settings.json", `{"allowManagedHooksOnly": true}`, "claude hooks: allowManagedHooksOnly is true", tools},
		{"home/etc/claude-code/managed-settings.json", `{"allowedMcpServers": [{"serverName": "c2c"}]}`, "", tools + hooks},
	} {
		path := l.Write("../"+is.file, is.text)
		l.Run("rm", "-rf", l.Home+"/.c2c") // the pointer there is made by a hook
		out := l.Terminal(l.ClaudeEnv(model), "unshare", "-m", "sh", "-c", `mount --bind "$HOME/etc" /etc; claude -p prompt-one; `+c2c()+` doctor; true`).Wait()
		works, turns := 0, model.Turns()
		if slices.Contains(turns[len(turns)-1].Tools, "mcp__c2c__send") {
			works += tools
		}
		if found, err := filepath.Glob(l.Home + "/.c2c/pointers/*"); err == nil && len(found) > 0 {
			works += hooks
		}
		if works != is.works {
			t.Errorf("%s: works are %d, want %d", is.text, works, is.works)
		}
		if !strings.Contains(out, is.says) || is.says == "" && strings.Contains(out, "warning  claude") {
			t.Errorf("%s: no %q in\n%s", is.text, is.says, out)
		}
		l.Run("rm", path)
		l.Write(".claude.json", trusted)
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
		out, _ := l.Try(c2c(), "doctor", "--verbose")
		if strings.Contains(out, "qwen folder trust: qwen was told not to trust") != told {
			t.Errorf("%s:\n%s", rule, out)
		}
		l.QwenPrompt(model, "prompt-"+rule).Wait()
		if r := model.WaitText("prompt-" + rule); (len(r.Find("c2c carries messages")) > 0) == told {
			t.Errorf("%s: what it says of the server: %v", rule, r.Find("c2c"))
		}
	}
}

// What a person writes for Codex, and `gemini mcp disable c2c` for Gemini CLI: the clients
// (0.169.0, 0.61.0) start no server then.
func TestDoctorTellsThatAServerIsDisabled(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, "")
	l.SeedGemini(nil)
	l.Run(c2c(), "install", "codex")
	l.Run(c2c(), "install", "gemini")
	l.Write(".codex/config.toml", strings.Replace(l.Read(".codex/config.toml"), "[mcp_servers.c2c]", "[mcp_servers.c2c]\nenabled = false", 1))
	l.Write(".gemini/mcp-server-enablement.json", `{"c2c": {"enabled": false}}`)
	l.CodexExec("prompt-one").Wait()
	l.GeminiPrompt(model, "prompt-two").Wait()
	for _, prompt := range []string{"prompt-one", "prompt-two"} {
		if r := model.WaitText(prompt); strings.Contains(strings.Join(r.Tools, " "), "c2c") {
			t.Errorf("%s: its tools are %v", prompt, r.Tools)
		}
	}
	out, _ := l.Try(c2c(), "doctor", "--verbose")
	for _, want := range []string{"codex mcp server: enabled is false", "gemini approval: c2c is disabled"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// In a sandbox with process ids of its own. From outside, its session's process has another id.
func TestDoctorDoesNotCallAClaudeInASandboxOneWithoutMail(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	model.Script(register(lab.Claude, "amber"), lab.Say("Registered."), lab.Say("Woken."))
	p := l.Terminal(l.ClaudeEnv(model), "unshare", "--pid", "--fork", "--mount-proc", "claude", "--permission-mode", "default")
	p.WaitShown("shift+tab to cycle", "? for shortcuts")
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	claudeIdle(l, model)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	wantRead(t, l, "id-meanwhile", "read by socket")
	if out, err := l.Try(c2c(), "doctor"); err != nil || strings.Contains(out, "already") {
		t.Errorf("%v\n%s", err, out)
	}
}
