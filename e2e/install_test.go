package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// c2c is set up for all projects: Claude Code (2.1.329) asks neither whether a new MCP server may
// be used, wherever it is started, nor before its model calls a tool of c2c. With --ask it asks
// then.
func TestClaudeAsksNothingOfASetUpForAllProjects(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(map[string]any{"enableAllProjectMcpServers": false, "permissions": map[string]any{}})
	l.Run(c2c(), "install", "claude")
	l.WriteProject("sub/file", "")
	at := func(dir, prompt string, shows ...string) int {
		t.Helper()
		p := l.Terminal(l.ClaudeEnv(model), "sh", "-c", "cd "+dir+" && exec claude --permission-mode default")
		defer p.Kill()
		if p.WaitShown("New MCP server found", "shift+tab to cycle", "? for shortcuts") == 0 {
			t.Errorf("%s: it asks about the server", dir)
		}
		model.Script(whoami(lab.Claude), lab.Say("Called "+prompt+"."))
		p.Submit(prompt)
		return p.WaitShown(append(shows, "Called "+prompt+".")...)
	}
	for _, dir := range []string{".", "sub"} {
		if at(dir, "prompt-"+strings.Trim(dir, "."), "Do you want to proceed?") == 0 {
			t.Errorf("%s: it asks before a tool of c2c", dir)
		}
	}
	l.Run(c2c(), "install", "--ask", "claude")
	if at(".", "prompt-ask", "Do you want to proceed?") != 0 {
		t.Error("with --ask it does not ask")
	}
}

// What an earlier c2c has set up for one project, with the question about its server answered by
// "no": an install takes it over, and the model has c2c's tools in that project, too. Below the top
// of the project the client finds its file.
func TestAnInstallTakesOverWhatWasSetUpForAProject(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	before := tree(t, []string{"/.git/"}, l.Project)
	l.WriteProject("sub/file", "")
	tools := func(dir, prompt string) string {
		t.Helper()
		l.Terminal(l.ClaudeEnv(model), "sh", "-c", "cd "+dir+" && exec claude -p "+prompt).Wait()
		return strings.Join(model.WaitText(prompt).Tools, " ")
	}
	l.Run("sh", "-c", "cd sub && "+c2c()+" install --project claude")
	if got := tools("sub", "prompt-one"); !strings.Contains(got, "mcp__c2c__send") {
		t.Errorf("below the top of its project it has the tools %s", got)
	}
	l.WriteProject(".claude/settings.local.json", `{"enableAllProjectMcpServers": false, "disabledMcpjsonServers": ["c2c"]}`)
	out, err := l.Try(c2c(), "doctor", "--verbose", "--roundtrip")
	for _, want := range []string{"problem  claude approval: Claude Code was told not to use the server", "but a client is kept from its mail: see the problems"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("doctor: %v, no %q in\n%s", err, want, out)
		}
	}
	if got := tools(".", "prompt-two"); strings.Contains(got, "mcp__c2c__send") {
		t.Errorf("it was told not to use the server, and has the tools %s", got)
	}
	if out := l.Run(c2c(), "install", "claude"); !strings.Contains(out, "taken out of "+l.Project+"/.mcp.json") {
		t.Errorf("it says %s", out)
	}
	if got := tools(".", "prompt-three"); !strings.Contains(got, "mcp__c2c__send") {
		t.Errorf("after the install it has the tools %s", got)
	}
	l.Run("rm", "-r", "sub", ".claude")
	compareTrees(t, before, tree(t, []string{"/.git/"}, l.Project))
}

// The person's "Trust all and continue" is noted in config.toml, from which uninstall takes it
// again.
func TestTheReviewOfOurHooksGoesWithThem(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, "")
	before := l.Read(".codex/config.toml")
	l.Run(c2c(), "install", "codex")
	told := func() bool {
		out, _ := l.Try(c2c(), "doctor", "--verbose")
		return strings.Contains(out, `codex hook trust: start codex and choose "Trust all and continue"`)
	}
	if !told() {
		t.Error("doctor does not tell of the review")
	}
	p := l.Terminal(l.CodexEnv(), "sh", "-c", "exec codex --no-daemon")
	trustsCodexHooks(l, p)
	l.WaitFileCount(".codex/config.toml", "trusted_hash", 4)
	if told() {
		t.Error("doctor still tells of it")
	}
	model.Script(lab.Say("Answered."))
	p.Submit("prompt-one")
	p.WaitShown("Answered.")
	p.Command("/quit")
	p.Wait()
	l.Run(c2c(), "uninstall", "codex")
	after := l.Read(".codex/config.toml")
	if !strings.HasPrefix(after, strings.TrimSpace(before)) || strings.Contains(after, "hooks.state") || strings.Contains(after, "mcp_servers") {
		t.Errorf("config.toml is\n%s", after)
	}
}

// trustsCodexHooks chooses "Trust all and continue", as its person would. When it has drawn the
// question Codex (0.169.0) throws away what was typed before, and ends if that goes on.
func trustsCodexHooks(l *lab.Lab, p *lab.Proc) {
	p.WaitShown("Hooks need review")
	l.WaitSettled()
	p.Send(lab.Down)
	p.WaitShown("› 2. Trust all")
	p.Send(lab.Enter)
	p.WaitShown("Ask Codex to do anything")
}
