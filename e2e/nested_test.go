package e2e

import (
	"path/filepath"
	"testing"

	"c2c/e2e/lab"
)

// An agent goes into a nested repository: its shell is still its session, its mail comes in the
// same way, and no session appears there.

func TestClaudeKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, map[string]any{"permissions": map[string]any{"allow": []string{"Bash"}}}, "--permission-mode", "default")
	keepsItsRoot(t, l, model, p, lab.Claude, "amber", bash)
}

func TestCodexKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	keepsItsRoot(t, l, model, p, lab.Codex, "cody", shell)
}

func TestOpenCodeKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	keepsItsRoot(t, l, model, p, lab.OpenCode, "amber", func(command string) lab.Reply {
		return lab.Call("bash", map[string]any{"command": command, "description": "work"})
	})
}

func TestKimiKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	keepsItsRoot(t, l, model, p, lab.Kimi, "amber", kimiBash)
}

func TestGeminiKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	keepsItsRoot(t, l, model, p, lab.Gemini, "amber", geminiShell)
}

func TestCopilotKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	keepsItsRoot(t, l, model, p, lab.Copilot, "amber", copilotBash)
}

func TestQwenKeepsItsRootInANestedRepository(t *testing.T) {
	t.Parallel()
	l, model, p := qwenAt(t, nil)
	keepsItsRoot(t, l, model, p, lab.Qwen, "amber", qwenShell)
}

// keepsItsRoot has a session's model go into a nested repository, and there ask who it is, write,
// and get mail.
func keepsItsRoot(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, client lab.Client, alias string, run func(string) lab.Reply) {
	t.Helper()
	l.Run("sh", "-c", "mkdir -p vendor/lib && cd vendor/lib && git init -q && git remote add origin https://h.invalid/lib.git")
	model.Script(run("cd vendor/lib && "+c2c()+" whoami | sed s/^/i-am-/"),
		run("cd "+filepath.Join(l.Project, "vendor/lib")+" && "+c2c()+" send birch hello --id id-nested"),
		run("cd "+filepath.Join(l.Project, "vendor/lib")+" && "+sendAs("birch", alias, "meanwhile")),
		run("true"), lab.Say("Finished."))
	p.Submit("please go there")
	model.WaitText("i-am-" + alias)
	model.WaitText("word-meanwhile")
	p.WaitShown("Finished.")
	l.Run(c2c(), "status", "id-nested")
	if roots, _ := filepath.Glob(l.Home + "/.c2c/repos/*/broker/registry.json"); len(roots) != 1 {
		t.Errorf("roots: %q", roots)
	}
	wantMailboxes(t, l, client, 1)
}
