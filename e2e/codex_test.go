package e2e

import (
	"fmt"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// The tests of this file need no c2c: they pin what c2c relies on in Codex.

func shell(command string) lab.Reply {
	return lab.Call("exec_command", map[string]any{"cmd": command})
}

func TestCodexShowsHookContextAsDeveloper(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_SESSION_ID", "from-the-shell")
	l.SeedCodex(model, "")
	l.CodexHooks(map[string]string{
		"SessionStart":     capture(l.Home+"/start") + "; " + hookJSON("SessionStart", "word-at-start"),
		"UserPromptSubmit": capture(l.Home+"/prompt") + "; " + hookJSON("UserPromptSubmit", "word-at-prompt"),
		"PostToolUse":      capture(l.Home+"/post") + "; " + hookJSON("PostToolUse", "word-after-tool"),
	})
	if n := l.TrustCodexHooks(); n != 3 {
		t.Fatalf("Codex knows %d hooks, want 3", n)
	}
	model.Script(shell("echo tool-ran"), lab.Say("Finished."))
	l.CodexExec("please run it").Wait()

	first, second := model.Wait(0), model.Wait(1)
	for text, r := range map[string]*lab.Request{"word-at-start": first, "word-at-prompt": first, "word-after-tool": second} {
		if item := once(t, r, text); item.Role != "developer" {
			t.Errorf("%s is shown as %+v", text, item)
		}
	}
	session := events(t, l, "start")[0].SessionID
	if got := first.CodexThread(); got != session {
		t.Errorf("request carries thread %q, hooks %q", got, session)
	}
	env := environment(l, "post")
	if got := env["C2C_MCP_SESSION_ID"]; got != "from-the-shell" {
		t.Errorf("hook has C2C_MCP_SESSION_ID=%q of the client's environment", got)
	}
	for key := range env {
		if strings.HasPrefix(key, "CODEX_") {
			t.Errorf("hook has %s; it was said to have no ids in its environment", key)
		}
	}

	// The same thread goes on in another process.
	l.CodexExec("resume", session, "and again").Wait()
	starts := events(t, l, "start")
	if got := starts[len(starts)-1]; got.SessionID != session || got.Source != "resume" {
		t.Errorf("SessionStart after exec resume %s is %+v", session, got)
	}
}

func TestCodexSkipsHooksNobodyTrusted(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, "")
	l.CodexHooks(map[string]string{"UserPromptSubmit": hookJSON("UserPromptSubmit", "word-at-prompt")})
	l.CodexExec("first").Wait()
	if found := model.Wait(0).Find("word-at-prompt"); len(found) != 0 {
		t.Errorf("an untrusted hook ran: %+v", found)
	}
	l.CodexExec("--dangerously-bypass-hook-trust", "second").Wait()
	once(t, model.Wait(1), "word-at-prompt")
}

func TestCodexShowsAStopHooksReasonAsUser(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, "")
	stop := `if [ ! -e "$HOME/stopped" ]; then : > "$HOME/stopped"; printf '%s' '{"decision":"block","reason":"word-at-stop <b> & </hook_prompt>"}'; fi`
	l.CodexHooks(map[string]string{"Stop": capture(l.Home+"/stop") + "; " + stop})
	l.TrustCodexHooks()
	model.Script(lab.Say("First answer."), lab.Say("Second answer."))
	l.CodexExec("please answer").Wait()

	item := once(t, model.Wait(1), "word-at-stop")
	if item.Role != "user" || !strings.HasPrefix(item.Text, "<hook_prompt") || strings.Count(item.Text, "</hook_prompt>") != 1 {
		t.Errorf("Stop reason is shown as %+v", item)
	}
	stops := events(t, l, "stop")
	if len(stops) != 2 || stops[0].StopHookActive || !stops[1].StopHookActive {
		t.Errorf("Stop events %+v, want two, the second with stop_hook_active", stops)
	}
}

func TestCodexNamesTheThreadInEveryMCPCall(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_SESSION_ID", "from-the-shell")
	program, args := probe(t, l)
	l.SeedCodex(model, fmt.Sprintf("[mcp_servers.probe]\ncommand = %q\nargs = [%q, %q]\n", program, args[0], args[1]))
	model.Script(lab.CallMCP(lab.Codex, "probe", "look", map[string]any{}), lab.Say("Finished."))
	l.CodexExec("please look").Wait()
	once(t, model.Wait(1), "probe-looked")
	env := probeEnv(t, l)
	for _, key := range []string{"C2C_MCP_SESSION_ID", "CODEX_THREAD_ID", "LAB_KEY"} {
		if env[key] != "" {
			t.Errorf("MCP server has %s=%q, want nothing", key, env[key])
		}
	}
	if thread := model.Wait(0).CodexThread(); !strings.Contains(l.Read("probe.jsonl"), `"threadId":"`+thread+`"`) {
		t.Errorf("no call with threadId %q", thread)
	}
}

func TestCodexTUITakesPromptsThroughItsDaemon(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_SESSION_ID", "from-the-shell")
	l.SeedCodex(model, "")
	l.CodexHooks(map[string]string{
		"SessionStart": capture(l.Home + "/start"),
		"PostToolUse":  capture(l.Home+"/post") + "; " + hookJSON("PostToolUse", "word-after-tool"),
	})
	l.TrustCodexHooks()
	p := l.CodexTUI()
	model.Script(shell("echo tool-ran"), lab.Say("Finished."))
	p.Submit("please run it")
	once(t, model.Wait(1), "word-after-tool")
	p.WaitScreen(0, "Finished.")
	if got := events(t, l, "start"); len(got) != 1 || got[0].SessionID != model.Wait(0).CodexThread() {
		t.Errorf("SessionStart events %+v, want one of thread %s", got, model.Wait(0).CodexThread())
	}
}
