package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// marketplace is the one of install/marketplace.
func marketplace() string { return filepath.Join(os.Getenv("C2C_E2E_BIN"), "marketplace") }

// pluginLab has a client and a birch who writes; with both, also what c2c install writes.
func pluginLab(t *testing.T, c lab.Client, both bool) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	if c == lab.Claude {
		l.SeedClaude(map[string]any{"permissions": map[string]any{"allow": []string{"mcp__c2c", "mcp__plugin_c2c_c2c"}}})
	} else {
		l.SeedCodex(model, "")
	}
	if both {
		l.Run(c2c(), "install", string(c))
	}
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// wantPlugin compares what doctor says of the plugin.
func wantPlugin(t *testing.T, l *lab.Lab, c lab.Client, want string) {
	t.Helper()
	out, _ := l.Try(c2c(), "doctor", "--verbose")
	if !strings.Contains(out, string(c)+" "+want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// wantSkill wants the plugin's skill among those that the model is told of.
func wantSkill(t *testing.T, r *lab.Request) {
	t.Helper()
	if len(r.Find("Write to other AI coding sessions")) == 0 {
		t.Errorf("the model is told of no skill in:\n%s", r)
	}
}

// Alone the plugin brings mail; beside c2c install it does nothing; and it goes without a trace.
func TestClaudeHasMailByThePluginOnce(t *testing.T) {
	t.Parallel()
	for both, server := range map[bool]string{false: "plugin_c2c_c2c", true: "c2c"} {
		l, model := pluginLab(t, lab.Claude, both)
		l.Claude(model, "plugin", "marketplace", "add", marketplace()).Wait()
		l.Claude(model, "plugin", "install", "c2c@c2c").Wait()
		wantPlugin(t, l, lab.Claude, map[bool]string{false: "plugin: c2c@c2c is on (", true: "plugin: c2c@c2c is on, and does nothing because c2c install has set up the same"}[both])
		if out := l.Run(c2c(), "install", "claude"); !strings.Contains(out, "nothing to change") {
			t.Errorf("install beside the plugin: %s", out)
		}
		sent := make(chan struct{})
		model.Script(lab.CallMCP(lab.Claude, server, "me", map[string]any{"alias": "amber"}),
			lab.Say("Registered.").After(sent), lab.Say("Answered."))
		p := l.ClaudeTUI(model)
		p.Submit("prompt-one")
		model.Wait(1)
		l.Run("sh", "-c", sendAs("birch", "amber", "busy"))
		close(sent)
		p.WaitShown("Answered.")
		claudeIdle(l, model)
		model.Script(lab.Say("Woken."))
		l.Run("sh", "-c", sendAs("birch", "amber", "idle"))
		r := model.WaitText("word-idle")
		wantSkill(t, r)
		p.WaitShown("Woken.")
		for _, word := range []string{"busy", "idle"} {
			onlyOnce(t, model.Turns(), "word-"+word, "")
		}
		wantRead(t, l, "id-busy", "read by hook")
		wantRead(t, l, "id-idle", "read by socket")
		for _, tool := range r.Tools {
			if strings.HasPrefix(tool, "mcp__") && !strings.HasPrefix(tool, "mcp__"+server+"__") {
				t.Errorf("a second server has the tool %s", tool)
			}
		}
		p.Command("/exit")
		p.Wait()
		l.Claude(model, "plugin", "uninstall", "c2c@c2c").Wait()
		l.Claude(model, "plugin", "marketplace", "remove", "c2c").Wait()
		if !both {
			wantPlugin(t, l, lab.Claude, "c2c: not set up")
			if left := l.Read(".claude/settings.json"); strings.Contains(left, "c2c@") || strings.Contains(left, "marketplace/") {
				t.Errorf("left in its settings:\n%s", left)
			}
		}
	}
}

// Codex starts one server of a name, and that of its own configuration comes first.
func TestCodexHasMailByThePluginOnce(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		l, model := pluginLab(t, lab.Codex, both)
		l.Codex("plugin", "marketplace", "add", marketplace()).Wait()
		l.Codex("plugin", "add", "c2c@c2c").Wait()
		wantPlugin(t, l, lab.Codex, map[bool]string{false: "plugin: c2c@c2c is on (", true: "plugin: c2c@c2c is on, and does nothing because c2c install has set up the same"}[both])
		if out := l.Run(c2c(), "install", "codex"); !strings.Contains(out, "nothing to change") {
			t.Errorf("install beside the plugin: %s", out)
		}
		l.TrustCodexHooks()
		model.Script(register(lab.Codex, "cody"), shell(sendAs("birch", "cody", "busy")), lab.Say("Registered."), lab.Say("Answered."))
		p := l.CodexTUI()
		p.Submit("prompt-one")
		p.WaitShown("Answered.")
		codexIdle(l, 2)
		model.Script(lab.Say("Woken."))
		l.Run("sh", "-c", sendAs("birch", "cody", "idle"))
		p.WaitShown("Woken.")
		for _, word := range []string{"busy", "idle"} {
			onlyOnce(t, model.Turns(), "word-"+word, "")
			wantRead(t, l, "id-"+word, "read by server")
		}
		r := model.WaitText("word-idle")
		once(t, r, "waits for you") // announced by one hook
		wantSkill(t, r)
		p.Kill()
		l.Codex("plugin", "remove", "c2c@c2c").Wait()
		l.Codex("plugin", "marketplace", "remove", "c2c").Wait()
		if !both {
			wantPlugin(t, l, lab.Codex, "c2c: not set up")
			// It keeps that the person has trusted these hooks.
			if left := l.Read(".codex/config.toml"); strings.Contains(left, "plugins.") || strings.Contains(left, "mcp_servers.c2c") {
				t.Errorf("left in its configuration:\n%s", left)
			}
		}
	}
}
