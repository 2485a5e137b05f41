package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// The tests of this file need no c2c: they pin what c2c relies on in Claude Code.

func bash(command string) lab.Reply {
	return lab.Call("Bash", map[string]any{"command": command, "description": "run it"})
}

func TestClaudeShowsHookContextWithTheNextRequest(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_SESSION_ID", "from-the-shell")
	l.SeedClaude(claudeHooks(map[string]string{
		"SessionStart":     capture(l.Home+"/start") + "; " + hookJSON("SessionStart", "word-at-start"),
		"UserPromptSubmit": capture(l.Home+"/prompt") + "; " + hookJSON("UserPromptSubmit", "word-at-prompt"),
		"PostToolUse":      capture(l.Home+"/post") + "; " + hookJSON("PostToolUse", "word-after-tool"),
	}))
	model.Script(bash("echo tool-ran"), lab.Say("Finished."))
	p := l.Claude(model, "-p", "please run it")
	p.CloseInput()
	p.Wait()

	first, second := model.Wait(0), model.Wait(1)
	once(t, first, "SessionStart hook additional context: word-at-start")
	once(t, first, "UserPromptSubmit hook additional context: word-at-prompt")
	once(t, second, "PostToolUse:Bash hook additional context: word-after-tool")
	once(t, second, "word-at-start")
	once(t, second, "word-at-prompt")

	env := environment(l, "post")
	if got := env["CLAUDE_PID"]; got != strconv.Itoa(p.Pid()) {
		t.Errorf("hook has CLAUDE_PID=%s, the client is %d", got, p.Pid())
	}
	session := events(t, l, "start")[0].SessionID
	if got := env["CLAUDE_CODE_SESSION_ID"]; got != session {
		t.Errorf("hook has CLAUDE_CODE_SESSION_ID=%s and reads session_id %s", got, session)
	}
	if got := env["C2C_MCP_SESSION_ID"]; got != "from-the-shell" {
		t.Errorf("hook has C2C_MCP_SESSION_ID=%q of the client's environment", got)
	}
	if got := first.ClaudeSession(); got != session {
		t.Errorf("request carries session %q, hooks %q", got, session)
	}
}

func TestClaudeGoesOnWhenAStopHookAddsContext(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	stop := `if [ ! -e "$HOME/stopped" ]; then : > "$HOME/stopped"; ` + hookJSON("Stop", "word-at-stop") + "; fi"
	l.SeedClaude(claudeHooks(map[string]string{"Stop": capture(l.Home+"/stop") + "; " + stop}))
	model.Script(lab.Say("First answer."), lab.Say("Second answer."))
	p := l.Claude(model, "-p", "please answer")
	p.CloseInput()
	out := p.Wait()

	if item := once(t, model.Wait(1), "word-at-stop"); item.Role != "user" {
		t.Errorf("Stop context is shown as %+v", item)
	}
	if !strings.Contains(out, "Second answer.") {
		t.Errorf("claude -p printed %q", out)
	}
	stops := events(t, l, "stop")
	if len(stops) != 2 || stops[0].StopHookActive || !stops[1].StopHookActive {
		t.Errorf("Stop events %+v, want two, the second with stop_hook_active", stops)
	}
}

func TestClaudeTakesANewSessionIDAtClear(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(claudeHooks(map[string]string{
		"SessionStart": capture(l.Home + "/start"),
		"PostToolUse":  capture(l.Home + "/post"),
	}))
	l.WriteProject(".mcp.json", claudeProbe(t, l))
	p := l.ClaudeTUI(model)
	p.Submit("first prompt")
	model.WaitText("first prompt")
	p.WaitShown("Done.")
	clears(p, "/clear", "Done.", "shift+tab to cycle", "? for shortcuts")
	p.Submit("second prompt")
	model.WaitText("second prompt")
	model.Script(bash("true"))
	p.Submit("third prompt")
	model.WaitFor("the tool's result", func(turns []*lab.Request) *lab.Request {
		if last := turns[len(turns)-1]; last.Last().Role != "user" && len(last.Find("third prompt")) == 1 {
			return last
		}
		return nil
	})

	starts := events(t, l, "start")
	if len(starts) != 2 || starts[0].Source != "startup" || starts[1].Source != "clear" {
		t.Fatalf("SessionStart events %+v, want startup and clear", starts)
	}
	if starts[0].SessionID == starts[1].SessionID {
		t.Errorf("session id %s is the same after /clear", starts[0].SessionID)
	}
	if got := environment(l, "post")["CLAUDE_CODE_SESSION_ID"]; got != starts[1].SessionID {
		t.Errorf("hook after /clear has CLAUDE_CODE_SESSION_ID=%s, want the new %s", got, starts[1].SessionID)
	}
	env := probeEnv(t, l)
	if got := env["CLAUDE_CODE_SESSION_ID"]; got != starts[0].SessionID {
		t.Errorf("MCP server has CLAUDE_CODE_SESSION_ID=%s, want the old %s", got, starts[0].SessionID)
	}
}

func TestClaudeResumesUnderTheSameSessionID(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(claudeHooks(map[string]string{"SessionStart": capture(l.Home + "/start")}))
	p := l.Claude(model, "-p", "first prompt")
	p.CloseInput()
	p.Wait()
	id := events(t, l, "start")[0].SessionID
	tui := l.ClaudeTUI(model, "--resume", id)
	tui.Submit("second prompt")
	once(t, model.WaitText("second prompt"), "first prompt")
	last := events(t, l, "start")
	if got := last[len(last)-1]; got.SessionID != id || got.Source != "resume" {
		t.Errorf("SessionStart after --resume %s is %+v", id, got)
	}
}

func TestClaudeMarksHooksOfASubagent(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(claudeHooks(map[string]string{"PostToolUse": capture(l.Home + "/post")}))
	model.Answer(subagent("subagent-task", bash("echo by-subagent")))
	model.Script(delegate("subagent-task"), bash("echo by-main"), lab.Say("Finished."))
	p := l.Claude(model, "-p", "main-prompt")
	p.CloseInput()
	p.Wait()

	post := events(t, l, "post")
	if len(post) != 3 {
		t.Fatalf("PostToolUse events %+v, want the subagent's Bash, Agent and Bash", post)
	}
	for i, want := range []struct {
		tool  string
		inner bool
	}{{"Bash", true}, {"Agent", false}, {"Bash", false}} {
		if got := post[i]; got.ToolName != want.tool || (got.AgentID != "") != want.inner || got.SessionID != post[0].SessionID {
			t.Errorf("PostToolUse event %d is %+v, want tool %s, agent_id set: %v, one session", i, got, want.tool, want.inner)
		}
	}
}

// delegate starts a subagent with the prompt and waits for it.
func delegate(prompt string) lab.Reply {
	return lab.Call("Agent", map[string]any{
		"description": "do it", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false})
}

// subagent answers the requests of the subagent that has the prompt: first with the reply, then it
// is done.
func subagent(prompt string, reply lab.Reply) func(*lab.Request) (lab.Reply, bool) {
	return func(r *lab.Request) (lab.Reply, bool) {
		var asked, worked bool
		for _, item := range r.Items {
			asked = asked || item.Role == "user" && item.Text == prompt
			worked = worked || item.Role == "tool"
		}
		if worked {
			reply = lab.Say("Subagent done.")
		}
		return reply, asked
	}
}

func TestClaudeCallsMCPTools(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("C2C_MCP_SESSION_ID", "from-the-shell")
	l.SeedClaude(nil)
	l.WriteProject(".mcp.json", claudeProbe(t, l))
	model.Script(lab.CallMCP(lab.Claude, "probe", "look", map[string]any{}), lab.Say("Finished."))
	p := l.Claude(model, "-p", "please look")
	p.CloseInput()
	p.Wait()
	once(t, model.Wait(1), "probe-looked")
	env := probeEnv(t, l)
	for key, want := range map[string]string{
		"C2C_MCP_SESSION_ID":     "from-the-shell",
		"CLAUDE_CODE_SESSION_ID": model.Wait(0).ClaudeSession(),
		"CLAUDE_PROJECT_DIR":     l.Project,
		"CLAUDE_PID":             "",
		"ppid":                   strconv.Itoa(p.Pid()),
	} {
		if env[key] != want {
			t.Errorf("MCP server has %s=%q, want %q", key, env[key], want)
		}
	}
}

// claudeHooks is the settings.json form of one command for each event.
func claudeHooks(commands map[string]string) map[string]any {
	hooks := map[string]any{}
	for event, command := range commands {
		hooks[event] = lab.ClaudeHook(command)
	}
	return map[string]any{"hooks": hooks}
}

// claudeProbe is a .mcp.json with the probe server, whose tools are on offer from the first
// request.
func claudeProbe(t *testing.T, l *lab.Lab) string {
	program, args := probe(t, l)
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"probe": map[string]any{
		"command": program, "args": args, "alwaysLoad": true}}})
	return string(text)
}

// probeEnv returns the environment of the probe server, and its parent as "ppid".
func probeEnv(t *testing.T, l *lab.Lab) map[string]string {
	t.Helper()
	var started struct {
		Env  []string
		Ppid int
	}
	if err := json.Unmarshal([]byte(lines(l.Read("probe.jsonl"))[0]), &started); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"ppid": strconv.Itoa(started.Ppid)}
	for _, line := range started.Env {
		key, value, _ := strings.Cut(line, "=")
		env[key] = value
	}
	return env
}
