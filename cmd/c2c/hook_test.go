package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/hooks"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// claudeEvent answers an event of amber's Claude Code.
func claudeEvent(t *testing.T, root, name string) (out, errs string, code int) {
	t.Helper()
	return clientEvent(t, root, "claude", fmt.Sprintf(`{"hook_event_name":%q,"session_id":"u1"}`, name))
}

// clientEvent answers an event of amber's client.
func clientEvent(t *testing.T, root, client, event string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": "amber", "HOME": filepath.Dir(root)}
	a := &app{strings.NewReader(event), &stdout, &stderr, func(name string) string { return env[name] }, filepath.Dir(root), 5 * time.Second}
	code = a.main(t.Context(), []string{"hook", "--client", client})
	return stdout.String(), stderr.String(), code
}

// Qwen Code shows its person nothing of the mail that comes in a turn, until its end.
func TestWhatCameInATurnIsToldAtItsEndOnce(t *testing.T) {
	root := scratch(t)
	qwen := func(event string) string {
		t.Helper()
		out, errs, code := clientEvent(t, root, "qwen", `{"session_id":"u1","hook_event_name":`+event+`}`)
		if errs != "" || code != cli.Done {
			t.Errorf("%s: exit %d, %s", event, code, errs)
		}
		return out
	}
	for _, word := range []string{"one", "two"} {
		mustRun(t, root, "birch", "send", "amber", word)
		if out := qwen(`"PostToolUse"`); !strings.Contains(out, `\n`+word+`\n`) {
			t.Errorf("in the turn: %s", out)
		}
	}
	if out := qwen(`"Stop","agent_id":"a-1"`); out != "" {
		t.Errorf("at the end of a subagent: %s", out)
	}
	const told = `"systemMessage":"Mail from birch (claimed): one\nMail from birch (claimed): two"`
	mustRun(t, root, "birch", "send", "amber", "three")
	if out := qwen(`"Stop"`); !strings.Contains(out, told) || !strings.Contains(out, `\nthree\n`) || strings.Contains(out, "(claimed): three") {
		t.Errorf("at its end: %s", out)
	}
	if out := qwen(`"Stop","stop_hook_active":true`) + qwen(`"Stop"`); out != "" {
		t.Errorf("once more: %s", out)
	}
}

func TestASessionStartAsksForAWatchOfItsLockFile(t *testing.T) {
	root := scratch(t)
	lock := filepath.Join(root, "amber.inbox.lock")
	want := fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"SessionStart","watchPaths":[%q]}}`+"\n", lock)
	if out, errs, code := claudeEvent(t, root, "SessionStart"); out != want || errs != "" || code != cli.Done {
		t.Errorf("exit %d, %s%s, want %s", code, out, errs, want)
	}
	mustRun(t, root, "birch", "send", "amber", "hello")
	if out, _, _ := claudeEvent(t, root, "SessionStart"); out != want {
		t.Errorf("with mail, and nobody who asks the model anything yet: %s", out)
	}
	if out, _, _ := claudeEvent(t, root, "UserPromptSubmit"); !strings.Contains(out, "hello") {
		t.Errorf("with a prompt: %s", out)
	}
}

func TestAChangeRingsOnceAndWithoutABody(t *testing.T) {
	root := scratch(t)
	ring := func(what string, want bool) {
		t.Helper()
		out, errs, code := claudeEvent(t, root, "FileChanged")
		rang := code == exitOnStderr && strings.Contains(errs, `count="`) && strings.Contains(errs, `from="birch"`)
		if rang != want || !want && (code != cli.Done || errs != "") || out != "" || strings.Contains(errs, "hello") {
			t.Errorf("%s: exit %d, %q, %q", what, code, out, errs)
		}
	}
	ring("no mail", false)
	mustRun(t, root, "birch", "send", "amber", "hello", "--id", "m1")
	ring("mail", true)
	if out := mustRun(t, root, "birch", "status", "m1"); !strings.Contains(out, "rung") || !strings.Contains(out, "filechanged") {
		t.Errorf("status %s", out)
	}
	ring("the same mail", false)
	mustRun(t, root, "birch", "send", "amber", "hello again")
	ring("more mail behind it", false)
	mustRun(t, root, "amber", "poll-inbox")
	mustRun(t, root, "birch", "send", "amber", "hello anew")
	ring("mail after a drain", true)
	mustRun(t, root, "amber", "poll-inbox")
	mustRun(t, root, "birch", "send", "amber", "hello later", "--deferrable")
	ring("mail that may wait", false)
	mustRun(t, root, "birch", "send", "amber", "hello now")
	mustRun(t, root, "amber", "dnd", "on")
	ring("do not disturb", false)
	mustRun(t, root, "amber", "dnd", "off")
	ring("disturb again", true)
}

func TestALiveRingerLeavesAChangeNothingToDo(t *testing.T) {
	root := scratch(t)
	dir, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), dir, "amber.wake.lock")
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, root, "birch", "send", "amber", "hello")
	if out, errs, code := claudeEvent(t, root, "FileChanged"); out+errs != "" || code != cli.Done {
		t.Errorf("with a ringer: exit %d, %q, %q", code, out, errs)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, _, code := claudeEvent(t, root, "FileChanged"); code != exitOnStderr {
		t.Errorf("without one: exit %d", code)
	}
}

func TestAPluginThatServesASessionLeavesItsHooksNothing(t *testing.T) {
	root := scratch(t)
	dir, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), dir, "amber.wake.lock")
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, root, "birch", "send", "amber", "hello")
	copilot := func(event string) string {
		t.Helper()
		out, errs, code := clientEvent(t, root, "copilot", `{"session_id":"u1","hook_event_name":`+event+`}`)
		if code != cli.Done || errs != "" {
			t.Errorf("exit %d, %s", code, errs)
		}
		return out
	}
	afterTool := func() string { return copilot(`"PostToolUse"`) }
	asks := func() bool {
		t.Helper()
		copilot(`"Notification","notification_type":"permission_prompt"`)
		data, err := os.ReadFile(filepath.Join(root, "sessions", "amber.json"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(data), `"turn": "waiting"`) && strings.Contains(string(data), `"turn_by": "plugin"`)
	}
	if out := afterTool(); out != "" {
		t.Errorf("beside the plugin it shows %s", out)
	}
	if !asks() { // nothing tells the plugin of that
		t.Error("that a dialog is open is not told")
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	// What a plugin that was killed had put into the client stays there.
	client := exec.Command("sleep", "1000")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := b.Attach(t.Context(), callers.Caller{Explicit: "amber", Client: "copilot", ClientID: "u1", PID: client.Process.Pid})
	if err == nil {
		err = b.SetMod(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := afterTool(); !strings.Contains(out, "hello") {
		t.Errorf("what no plugin had is not shown: %s", out)
	}
	mustRun(t, root, "birch", "send", "amber", "world")
	box, err := b.Mailbox(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := box.Lease(t.Context(), wake.ByPlugin, 1)
	if err == nil {
		err = lease.Release()
	}
	out := afterTool()
	client.Process.Kill()
	client.Wait()
	if out != "" || err != nil {
		t.Errorf("it shows what the plugin had: %s, %v", out, err)
	}
	if out := afterTool(); !strings.Contains(out, "world") {
		t.Errorf("without it: %s", out)
	}
	if out := afterTool(); out != "" {
		t.Errorf("once more: %s", out)
	}
}

// Whatever happens, no other event ends with a status that a client takes for a verdict.
func TestAHookNeverFails(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "birch", "send", "amber", "hello")
	for _, name := range []string{"PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit", "SessionStart", "FileChanged", ""} {
		if _, _, code := claudeEvent(t, root, name); code != cli.Done {
			t.Errorf("%s: exit %d", name, code)
		}
	}
	if _, _, code := run(t, root, "amber", "hook", "--nonsense"); code != cli.Done {
		t.Errorf("usage: exit %d", code)
	}
}

// Each hook would wait for a writer until the script ends it, and the mail would never be shown.
func TestAPointerThatIsNoFileIsReplaced(t *testing.T) {
	for kind, plant := range map[string]func(string) error{
		"FIFO":              func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link to /dev/zero": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		root := scratch(t)
		home := filepath.Dir(root)
		state, _ := project.StateDir(func(name string) string { return map[string]string{"HOME": home}[name] })
		path := callers.PointerPath(state, "u1")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), plant(path)); err != nil {
			t.Fatal(err)
		}
		done := make(chan string, 1)
		go func() {
			_, errs, _ := claudeEvent(t, root, "SessionStart")
			done <- errs
		}()
		select {
		case errs := <-done:
			if data, err := os.ReadFile(path); errs != "" || err != nil || !strings.HasPrefix(string(data), root+"/") {
				t.Errorf("%s: %s; the pointer is %q, %v", kind, errs, data, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the hook waits for a %s", kind)
		}
	}
}

// Kimi Code reads the answer from standard error, if the status is 2.
func TestAnAnswerOnStandardError(t *testing.T) {
	root := scratch(t)
	home := filepath.Dir(root)
	log := filepath.Join(home, ".kimi-code", "sessions", "wd", "s1", "agents", "main", "wire.jsonl")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte(`{"type":"context.append_loop_event","event":{"type":"step.end"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := func() (out, errs string, code int) {
		t.Helper()
		return clientEvent(t, root, "kimi", `{"hook_event_name":"Stop","session_id":"s1"}`)
	}
	if out, errs, code := stop(); out+errs != "" || code != cli.Done {
		t.Errorf("without mail: exit %d, %q, %q", code, out, errs)
	}
	mustRun(t, root, "birch", "send", "amber", "hello", "--id", "m1")
	if out, errs, code := stop(); out != "" || !strings.Contains(errs, "\nhello\n") || strings.Contains(errs, "{") || code != exitOnStderr {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if out := mustRun(t, root, "birch", "status", "m1"); !strings.Contains(out, "handed by hook") {
		t.Errorf("status %s", out)
	}
	if out, errs, code := stop(); out+errs != "" || code != cli.Done {
		t.Errorf("once more: exit %d, %q, %q", code, out, errs)
	}
	if out := mustRun(t, root, "birch", "status", "m1"); !strings.Contains(out, "read by hook") {
		t.Errorf("its model has answered, and status is %s", out)
	}

	// It has shown its person nothing of that: the next prompt does, once.
	for _, told := range []bool{true, false} {
		out, errs, code := clientEvent(t, root, "kimi", `{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt":"do it"}`)
		if errs != "" || code != cli.Done || strings.Contains(out, "Mail from birch (claimed): hello") != told || !told && out != "" {
			t.Errorf("with a prompt: exit %d, %q, %q", code, out, errs)
		}
	}
}

// Its events do not tell the session: the MCP server has bound it to a process above the hook.
func TestAnEventWithoutASessionIsThatOfTheProcessAbove(t *testing.T) {
	for _, tc := range []struct{ hook, above, says string }{
		{"cursor", "cursor", `{"followup_message":"c2c: 1 message waits for you: birch (claimed).`},
		{"cursor", "claude", ""}, // inside of another client
		{"cursor", "", ""},       // before the first call of a tool
		{"claude", "cursor", ""}, // Cursor runs Claude Code's hooks, too
	} {
		root := scratch(t)
		if tc.above != "" {
			b, err := broker.Open(broker.Config{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, err := b.Register(t.Context(), callers.Caller{Client: tc.above, PID: os.Getppid()}, "coral"); err != nil {
				t.Fatal(err)
			}
			mustRun(t, root, "birch", "send", "coral", "hello")
		}
		before := mustRun(t, root, "birch", "list")
		var stdout, stderr bytes.Buffer
		env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "HOME": filepath.Dir(root)}
		event := `{"hook_event_name":"stop","conversation_id":"c-1","cursor_version":"3.18.25","status":"completed","loop_count":0}`
		if tc.hook == "claude" { // the event has the name that the hook is for
			event = strings.Replace(event, `"stop"`, `"Stop","session_id":"c-1"`, 1)
		}
		a := &app{strings.NewReader(event), &stdout, &stderr, func(name string) string { return env[name] }, t.TempDir(), 5 * time.Second}
		code := a.main(t.Context(), []string{"hook", "--client", tc.hook})
		out := stdout.String()
		if code != cli.Done || stderr.Len() > 0 || !strings.HasPrefix(out, tc.says) || tc.says == "" && out != "" || strings.Contains(out, "hello") {
			t.Errorf("%s below %q: exit %d, %s%s", tc.hook, tc.above, code, out, stderr.String())
		}
		if after := mustRun(t, root, "birch", "list"); strings.Count(after, "\n") != strings.Count(before, "\n") {
			t.Errorf("%s below %q: a session was made: %s", tc.hook, tc.above, after)
		}
	}
}

// A window has several conversations, those of its subagents among them: the one in which its
// person writes is told once.
func TestCursorIsToldWhereItsPersonWrites(t *testing.T) {
	root := scratch(t)
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	coral, err := b.Register(t.Context(), callers.Caller{Client: "cursor", PID: os.Getppid()}, "coral")
	if err != nil {
		t.Fatal(err)
	}
	hook := func(event, conversation string) string {
		var stdout, stderr bytes.Buffer
		env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "HOME": filepath.Dir(root)}
		in := fmt.Sprintf(`{"hook_event_name":%q,"conversation_id":%q,"cursor_version":"3.18.25"}`, event, conversation)
		a := &app{strings.NewReader(in), &stdout, &stderr, func(name string) string { return env[name] }, t.TempDir(), 5 * time.Second}
		if code := a.main(t.Context(), []string{"hook", "--client", "cursor"}); code != cli.Done || stderr.Len() > 0 {
			t.Errorf("%s in %s: exit %d, %s", event, conversation, code, stderr.String())
		}
		return stdout.String()
	}
	says := func(event, conversation, want string) {
		t.Helper()
		if out := hook(event, conversation); !strings.HasPrefix(out, want) || want == "" && out != "" || strings.Contains(out, "precious") {
			t.Errorf("%s in %q: %q, want %q", event, conversation, out, want)
		}
	}
	const told = `{"additional_context":"c2c: 1 message waits for you: birch (claimed).`
	mustRun(t, root, "birch", "send", "coral", "precious")
	says("postToolUse", "own", "") // nobody knows whose it is
	says("postToolUse", "", "")
	says("beforeSubmitPrompt", "own", "")
	says("postToolUse", "subagent", "")
	says("postToolUse", "own", told)
	says("postToolUse", "own", "")
	mustRun(t, root, "birch", "send", "coral", "precious too")
	says("beforeSubmitPrompt", "other", "")
	says("postToolUse", "own", "")
	if out := mustRun(t, root, coral.ID, "poll-inbox"); strings.Count(out, "precious") != 2 {
		t.Errorf("what was told of was handed over: %s", out)
	}
	says("postToolUse", "other", "")
}

// A client may run its hooks in a directory of its own.
func TestAHookFindsItsProjectByTheVariable(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"HOME": home, "CURSOR_PROJECT_DIR": project}
	event := `{"hook_event_name":"stop","status":"completed","loop_count":0}`
	a := &app{strings.NewReader(event), &stdout, &stderr, func(name string) string { return env[name] }, home, 5 * time.Second}
	if code := a.main(t.Context(), []string{"hook", "--client", "cursor"}); code != cli.Done || a.cwd != project {
		t.Errorf("exit %d in %s: %s", code, a.cwd, stderr.String())
	}
}

// The client still runs the hooks that it has read before c2c was uninstalled. A plugin of the
// client's marketplace is not taken out by that.
func TestHooksOfAnUninstalledClientShowNothing(t *testing.T) {
	root := scratch(t)
	home := filepath.Join(filepath.Dir(root), "home")
	if err := os.MkdirAll(filepath.Join(home, ".c2c"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": "amber", "HOME": home}
	getenv := func(name string) string { return env[name] }
	if err := sessions.MarkUninstalled(getenv, "claude", ""); err != nil {
		t.Fatal(err)
	}
	mustRun(t, root, "birch", "send", "amber", "hello")
	shows := func(want bool) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		a := &app{strings.NewReader(`{"hook_event_name":"UserPromptSubmit","session_id":"u1"}`), &stdout, &stderr, getenv, home, 5 * time.Second}
		code := a.main(t.Context(), []string{"hook", "--client", "claude"})
		if code != cli.Done || stderr.Len() > 0 || strings.Contains(stdout.String(), "hello") != want {
			t.Errorf("exit %d, %s%s, want mail: %v", code, stdout.String(), stderr.String(), want)
		}
	}
	shows(false)
	env[hooks.PluginEnv] = "/plugin"
	shows(true)
}

// What a hook says on standard error nobody sees: that a person has to repair the root stands in
// the answer.
func TestASessionWhoseRootCannotBeUsedIsToldSoByItsHook(t *testing.T) {
	for name, spoil := range map[string]func(root string) error{
		"the registry is a folder": func(root string) error {
			registry := filepath.Join(root, "registry.json")
			return errors.Join(os.Remove(registry), os.Mkdir(registry, 0o700))
		},
		"the registry is a hole":    func(root string) error { return os.Truncate(filepath.Join(root, "registry.json"), 1<<40) },
		"others may write the root": func(root string) error { return os.Chmod(root, 0o777) },
	} {
		root := scratch(t)
		mustRun(t, root, "birch", "whoami")
		if err := spoil(root); err != nil {
			t.Fatal(err)
		}
		out, _, code := clientEvent(t, root, "claude", `{"hook_event_name":"UserPromptSubmit","session_id":"u1","prompt":"go on"}`)
		if code != cli.Done || !strings.Contains(out, "c2c: something must be repaired") || !strings.Contains(out, root) || !json.Valid([]byte(out)) {
			t.Errorf("%s: exit %d, %s", name, code, out)
		}
		if out, errs, code := claudeEvent(t, root, "Stop"); out != "" || errs == "" || code != cli.Done {
			t.Errorf("%s, at the end of a turn: exit %d, %s, %s", name, code, out, errs)
		}
	}
}

// The loop guard is told of a tool call and of a person's prompt, and of nothing that only answers
// mail.
func TestAHookTellsOfWork(t *testing.T) {
	root := scratch(t)
	file, calm := filepath.Join(root, "amber.work"), filepath.Join(root, "amber.calm")
	last := ""
	for _, c := range []struct {
		event string
		works bool
	}{
		{`"PostToolUse","tool_name":"mcp__c2c__poll_inbox"`, false},
		{`"PostToolUse","tool_name":"Read","tool_input":{"file_path":"x"}`, true},
		{`"PostToolUse","tool_name":"Bash","tool_input":{"command":"c2c reply hello"}`, false},
		{`"Stop"`, false},
		{`"UserPromptSubmit","prompt":"<c2c event=\"message_pending\" count=\"1\" from=\"birch\">run: c2c poll-inbox</c2c>"`, false},
		{`"UserPromptSubmit","prompt":"go on"`, true},
	} {
		if _, errs, code := clientEvent(t, root, "claude", `{"session_id":"u1","hook_event_name":`+c.event+`}`); errs != "" || code != cli.Done {
			t.Errorf("%s: exit %d, %s", c.event, code, errs)
		}
		said, err := os.Readlink(file)
		if err != nil || !strings.HasSuffix(said, " t") || last != "" && (said != last) != c.works {
			t.Errorf("%s: %q, before %q, %v", c.event, said, last, err)
		}
		if _, err := os.Stat(calm); (err == nil) != c.works {
			t.Errorf("%s: calm: %v", c.event, err)
		}
		os.Remove(calm)
		last = said
	}
}

// A hook of the conversation before may come after the first one of the new conversation. Nobody
// reads what it shows, and it ends nothing.
func TestALateHookOfAConversationThatHasEndedDoesNothing(t *testing.T) {
	root := scratch(t)
	hook := func(id, event string, shows bool) {
		t.Helper()
		out, errs, code := clientEvent(t, root, "gemini", fmt.Sprintf(`{"session_id":%q,"hook_event_name":%s}`, id, event))
		if errs != "" || code != cli.Done || strings.Contains(out, "hello") != shows {
			t.Errorf("%s of %s: exit %d, %s%s", event, id, code, errs, out)
		}
	}
	const start, prompt, tool = `"SessionStart"`, `"BeforeAgent","prompt":"go on"`, `"AfterTool","tool_name":"invoke_agent"`
	said := func(want string) {
		t.Helper()
		if out := mustRun(t, root, "birch", "status", "m1"); !strings.HasPrefix(out, "m1: "+want) {
			t.Errorf("want %s: %s", want, out)
		}
	}
	hook("u1", start, false)
	mustRun(t, root, "birch", "send", "amber", "hello", "--id", "m1")
	hook("u1", prompt, true)
	hook("u2", start, false)
	said("queued")
	hook("u1", tool, false)
	said("queued")
	hook("u2", prompt, true)
	hook("u1", tool, false)
	said("handed")
	hook("u2", prompt, false)
	said("handed")
	hook("u2", tool, false)
	said("read")
	hook("u1", start, false) // it is resumed
	said("read")
}

// Mail of another session begins a turn of Qwen Code without an event. Its answer is none to what a
// prompt had brought that was taken back.
func TestATurnOfMailAnswersNothingThatWasTakenBack(t *testing.T) {
	for _, end := range []string{`"PostToolUse","tool_name":"shell"`, `"Stop"`} {
		root, log := scratch(t), filepath.Join(t.TempDir(), "log")
		hook := func(event string) string {
			t.Helper()
			out, errs, code := clientEvent(t, root, "qwen", fmt.Sprintf(`{"session_id":"u1","transcript_path":%q,"hook_event_name":%s}`, log, event))
			if errs != "" || code != cli.Done {
				t.Fatalf("%s: exit %d, %s", event, code, errs)
			}
			return out
		}
		hook(`"SessionStart"`)
		mustRun(t, root, "birch", "send", "amber", "hello", "--id", "m1")
		brought := strings.NewReplacer("\n", "", `\u003c`, "&lt;").Replace(hook(`"UserPromptSubmit","prompt":"do it"`)) // as the client writes it
		if !strings.Contains(brought, "hello") {
			t.Fatalf("the prompt brings %s", brought)
		}
		at := time.Now().UTC().Format(time.RFC3339Nano)
		lines := fmt.Sprintf(`{"type":"user","uuid":"p","parentUuid":"a","timestamp":%q,"message":%s}`+"\n", at, brought) +
			`{"type":"user","uuid":"q","parentUuid":"a"}` + "\n" + `{"type":"assistant","uuid":"r","parentUuid":"q"}` + "\n"
		if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		shown := hook(end)
		if !strings.Contains(shown, "hello") || !strings.Contains(shown, "shown_before") {
			t.Errorf("%s brings %s", end, shown)
		}
		if again := hook(end); strings.Contains(again, "hello") {
			t.Errorf("the next %s brings %s", end, again)
		}
	}
}

// A prompt is work, but no answer: until the model answers, the script must go on to start c2c.
func TestAFailureIsOverWhenTheModelHasAnswered(t *testing.T) {
	root := scratch(t)
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := sessions.ExpectAnswers(b.Registry, "amber"); err != nil {
		t.Fatal(err)
	}
	does := func(event string, calm, failed bool) {
		t.Helper()
		if _, errs, code := clientEvent(t, root, "claude", `{"session_id":"u1","hook_event_name":`+event+`}`); errs != "" || code != cli.Done {
			t.Errorf("%s: exit %d, %s", event, code, errs)
		}
		if why, _ := sessions.ModelFailure(b.Registry, "amber"); sessions.IsCalm(b.Registry, "amber") != calm || (why != "") != failed {
			t.Errorf("after %s: calm %v, failure %q", event, !calm, why)
		}
	}
	does(`"UserPromptSubmit","prompt":"go"`, true, false)
	does(`"StopFailure","error":"overloaded"`, false, true)
	does(`"UserPromptSubmit","prompt":"go on"`, false, true)
	does(`"PostToolUse","tool_name":"Read"`, true, false)
}

// What stats counts for a context is what the hook has written there.
func TestStatsCountTheBytesThatAHookHasWritten(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "birch", "send", "amber", "one")
	mustRun(t, root, "birch", "send", "amber", "two, with \"quotes\" and <tags>")
	out, errs, _ := claudeEvent(t, root, "PostToolUse")
	var answer struct {
		Own struct {
			Text string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v in %s%s", err, out, errs)
	}
	var st broker.Stats
	if err := json.Unmarshal([]byte(mustRun(t, root, "birch", "stats", "--json")), &st); err != nil {
		t.Fatal(err)
	}
	if got := st.Mail.Total; got.Handed != 2 || got.Context != int64(len(answer.Own.Text)) || len(st.Mail.Pairs) != 1 {
		t.Errorf("stats %+v, the hook has written %d bytes", st.Mail, len(answer.Own.Text))
	}
}
