package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// Without c2c install, one command starts a client in which everything of c2c works, and no file of
// the client names c2c afterwards. The person's own hook and server work beside it. idle
// waits until the client's turn is over, and by is the way by which mail wakes it then.
func aloneWorks(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, c lab.Client, idle func(), by string, bash func(string) lab.Reply) {
	t.Helper()
	model.Script(whoami(c), lab.CallMCP(c, "probe", "look", map[string]any{}), lab.Say("I am amber."))
	p.Submit("prompt-one")
	model.WaitText(`"alias":"amber"`)
	p.WaitShown("I am amber.")
	idle()
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-meanwhile", "read by "+by)
	idle()
	model.Script(bash(sendAs("birch", "amber", "inturn")), lab.Say("All is done."))
	p.Submit("prompt-two")
	once(t, model.WaitText("word-inturn"), "word-inturn")
	p.WaitShown("All is done.")
	l.WaitFile("own-hook", "")
	folders := "~/.claude.json ~/.claude/settings.json ~/.config/opencode ~/.qwen/settings.json ~/.copilot/*.json ~/.copilot/hooks ~/.codex/config.toml"
	if got := l.Run("sh", "-c", "grep -rlE 'c2cd? (mcp|hook|plugin)|c2c-inbox-check|mcp__c2c' "+folders+" 2>/dev/null || true"); got != "" {
		t.Errorf("c2c is in %s", got)
	}
	if got := l.Run(c2c(), "doctor", "--json"); strings.Contains(got, `"status":"problem"`) {
		t.Errorf("doctor says\n%s", got)
	}
}

// birchLab has a birch who writes, and no client that c2c is installed in.
func birchLab(t *testing.T) (*lab.Lab, *lab.Model, map[string]any) {
	l, model := newLab(t), lab.NewModel(t)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	program, args := probe(t, l)
	return l, model, map[string]any{"probe": map[string]any{"command": program, "args": args}}
}

func startAlone(client string, more ...string) []string {
	return append([]string{c2c(), "start", "--alias", "amber", client, "--"}, more...)
}

func TestAClaudeIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, servers := birchLab(t)
	l.SeedClaude(map[string]any{"hooks": map[string]any{"PostToolUse": lab.ClaudeHook("touch ~/own-hook")}})
	l.WriteProject(".mcp.json", jsonText(map[string]any{"mcpServers": servers}))
	p := l.Terminal(l.ClaudeEnv(model), startAlone("claude", "--permission-mode", "default")...)
	p.WaitScreen(0, "? for shortcuts")
	aloneWorks(t, l, model, p, lab.Claude, func() { claudeIdle(l, model) }, "socket", func(command string) lab.Reply {
		return lab.Call("Bash", map[string]any{"command": command, "description": "run it"})
	})
}

func TestAQwenIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, servers := birchLab(t)
	l.SeedQwen(map[string]any{"mcpServers": servers, "hooks": map[string]any{"PostToolUse": lab.ClaudeHook("touch ~/own-hook")}})
	p := l.Terminal(l.QwenEnv(model), startAlone("qwen")...)
	p.WaitShown("Type your message")
	aloneWorks(t, l, model, p, lab.Qwen, func() { hooksSayIdle(l, "amber") }, "socket", func(command string) lab.Reply {
		return lab.Call("run_shell_command", map[string]any{"command": command, "description": "run it", "is_background": false})
	})
}

func TestAnOpenCodeIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, _ := birchLab(t)
	program, args := probe(t, l)
	l.SeedOpenCode(model, map[string]any{"mcp": map[string]any{"probe": map[string]any{"type": "local", "command": append([]string{program}, args...)}}})
	l.Write("own.ts", `import { writeFileSync } from "node:fs"
export const Own = async () => { writeFileSync(process.env.HOME + "/own-hook", "") ; return {} }
`)
	p := l.Terminal(append(l.OpenCodeEnv(), `OPENCODE_CONFIG_CONTENT={"plugin":["`+l.Home+`/own.ts"]}`), startAlone("opencode")...)
	p.WaitShown("Ask anything")
	aloneWorks(t, l, model, p, lab.OpenCode, func() { hooksSayIdle(l, "amber") }, "plugin", func(command string) lab.Reply {
		return lab.Call("bash", map[string]any{"command": command, "description": "run it"})
	})
}

// Codex takes neither a server nor hooks for one session. Mail wakes it all the same, and it is
// told what is missing.
func TestACodexIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, _ := birchLab(t)
	l.SeedCodex(model, "")
	before := l.Read(".codex/config.toml")
	model.Answer(func(r *lab.Request) (lab.Reply, bool) { return lab.Say("Woken."), true })
	p := l.Terminal(l.CodexEnv(), startAlone("codex")...)
	p.WaitScreen(0, "›")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile\n")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-meanwhile", "read by server")
	// Codex itself may add a line at the end.
	if got := l.Read(".codex/config.toml"); !strings.HasPrefix(got, strings.TrimSpace(before)) || strings.Contains(got, "mcp_servers") || strings.Contains(got, "hooks") {
		t.Errorf("its configuration is now\n%s", got)
	}
}

func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
