package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// What Codex has claimed, Claude Code may edit: before the edit its model is told who holds the
// file and why. In a project that asks for it the edit is refused. When Codex is killed, the file
// is free at once.
func TestClaudeIsWarnedOfAFileThatCodexHasClaimed(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(map[string]any{"permissions": map[string]any{"allow": []string{"Bash", "Write", "Edit"}}})
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	file := filepath.Join(l.Project, "flags.go")
	codex.Script(register(lab.Codex, "cody"), lab.CallMCP(lab.Codex, "c2c", "claim", map[string]any{"paths": []string{file}, "why": "new flags"}), lab.Say("Claimed."))
	q := l.CodexTUI("--no-daemon")
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Claimed.")
	codexIdle(l, 1)
	if got := l.Run(c2c(), "claims"); !strings.Contains(got, "cody: flags.go (new flags), in "+l.Project) {
		t.Errorf("claims: %s", got)
	}
	if got := l.Run(c2c(), "list"); !strings.Contains(got, "cody has claimed "+file) {
		t.Errorf("list: %s", got)
	}
	p := claudeAt(t, l, claude, "--permission-mode", "default")
	write := func(word, answer string) *lab.Request {
		t.Helper()
		claude.Script(lab.Call("Write", map[string]any{"file_path": file, "content": word}), lab.Say(answer))
		p.Submit("please write " + word)
		p.WaitShown(answer)
		claudeIdle(l, claude)
		turns := claude.Turns()
		return turns[len(turns)-1]
	}
	const warning = "cody has claimed flags.go (new flags)"
	if r := write("word-one", "Written one."); len(r.Find(warning)) != 1 {
		t.Errorf("Claude is not warned once:\n%s", r)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "word-one" {
		t.Errorf("the file has %q, %v", data, err)
	}
	l.WriteProject(".c2c/claims", "refuse\n")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := write("word-two", "Tried two."); len(r.Find("This project refuses edits")) != 1 {
		t.Errorf("the edit is not refused:\n%s", r)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is written all the same")
	}
	q.Kill()
	if r := write("word-three", "Written three."); len(r.Find(warning)) != 2 {
		t.Errorf("a dead session warns:\n%s", r)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "word-three" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// What Claude Code has claimed, Codex is told of before it patches the file, and without the words
// of the holder: Codex would show them with a developer's authority. In a project that asks for it
// the patch is refused.
func TestCodexIsWarnedOfAFileThatClaudeHasClaimed(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	file := filepath.Join(l.Project, "flags.go")
	p := claudeAt(t, l, claude, "--permission-mode", "default")
	claude.Script(lab.CallMCP(lab.Claude, "c2c", "claim", map[string]any{"paths": []string{file}, "why": "new flags"}), lab.Say("Claimed."))
	p.Submit("please claim it")
	p.WaitShown("Claimed.")
	codex.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	q := l.CodexTUI()
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Registered.")
	turns := 1
	codexIdle(l, turns)
	patch := func(word, answer string) *lab.Request {
		t.Helper()
		body := "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: flags.go\n+" + word + "\n*** End Patch\nEOF\n"
		codex.Script(lab.Call("exec_command", map[string]any{"cmd": body}), lab.Say(answer))
		q.Submit("please write " + word)
		q.WaitShown(answer)
		turns++
		codexIdle(l, turns)
		all := codex.Turns()
		return all[len(all)-1]
	}
	warning := "amber has claimed " + file
	if r := patch("word-one", "Written one."); len(r.Find(warning)) != 1 || len(r.Find("new flags")) > 0 {
		t.Errorf("Codex is not warned once, or has the holder's words:\n%s", r)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "word-one\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	l.WriteProject(".c2c/claims", "refuse\n")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r := patch("word-two", "Tried two."); len(r.Find("This project refuses edits")) != 1 {
		t.Errorf("the patch is not refused:\n%s", r)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is written all the same")
	}
	p.Kill()
	if r := patch("word-three", "Written three."); len(r.Find(warning)) != 2 { // those of before
		t.Errorf("a dead session warns:\n%s", r)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "word-three\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// A claimant is a live Claude Code that has claimed flags.go of the project.
type claimant struct {
	*lab.Lab
	model   *lab.Model
	p       *lab.Proc
	file    string
	warning string // words that another session is told of the claim, each time once
}

// claimantAt has a claimant in a lab, where the other client must be seeded already.
func claimantAt(t *testing.T, l *lab.Lab) claimant {
	t.Helper()
	l.SeedClaude(map[string]any{"permissions": map[string]any{"allow": []string{"Write"}}})
	l.Run(c2c(), "install")
	model, file := lab.NewModel(t), filepath.Join(l.Project, "flags.go")
	p := claudeAt(t, l, model, "--permission-mode", "default")
	model.Script(lab.CallMCP(lab.Claude, "c2c", "claim", map[string]any{"paths": []string{file}, "why": "new flags"}), lab.Say("Claimed."))
	p.Submit("please claim it")
	p.WaitShown("Claimed.")
	claudeIdle(l, model)
	return claimant{l, model, p, file, "amber has claimed flags.go (new flags)"}
}

// A writer has the model of a client, whose alias is birch, write a word into a file, and returns
// the last request of the turn.
type writer func(file, word, answer string) *lab.Request

func last(model *lab.Model) *lab.Request {
	turns := model.Turns()
	return turns[len(turns)-1]
}

// isWarned has the client write the file three times: it is warned, then refused, and left alone
// when the holder was killed.
func (c claimant) isWarned(t *testing.T, write writer) {
	t.Helper()
	content := func(want string) {
		t.Helper()
		if data, err := os.ReadFile(c.file); err != nil || string(data) != want {
			t.Errorf("the file has %q, %v; want %q", data, err, want)
		}
	}
	if r := write(c.file, "word-one", "Written one."); len(r.Find(c.warning)) != 1 || len(r.Find("amber has claimed ")) == 0 {
		t.Errorf("the model is not warned once:\n%s", r)
	}
	content("word-one")
	c.WriteProject(".c2c/claims", "refuse\n")
	refused := write(c.file, "word-two", "Tried two.")
	if len(refused.Find("This project refuses edits")) != 1 {
		t.Errorf("the edit is not refused:\n%s", refused)
	}
	content("word-one")
	c.p.Kill()
	if r := write(c.file, "word-three", "Written three."); len(r.Find(c.warning)) != len(refused.Find(c.warning)) {
		t.Errorf("a dead session warns:\n%s", r)
	}
	content("word-three")
}

// bothAreTold has Claude Code and the client write a file that nobody has claimed: each model is
// told of the other, once. The client's model gets the notice in the turn of its edit, or reads it.
func (c claimant) bothAreTold(t *testing.T, write writer, reads func(answer string) *lab.Request) {
	t.Helper()
	file := filepath.Join(c.Project, "shared.go")
	c.model.Script(lab.Call("Write", map[string]any{"file_path": file, "content": "of amber"}), lab.Say("Written by amber."))
	c.p.Submit("please write it")
	c.p.WaitShown("Written by amber.")
	claudeIdle(c.Lab, c.model)
	if err := os.Remove(file); err != nil { // clients refuse to write what they have not read
		t.Fatal(err)
	}
	r := write(file, "shared-one", "Shared one.")
	if reads != nil {
		r = reads("Read.")
	}
	const told = "have both edited shared.go in the last minutes. Agree who goes on; that one runs c2c claim." // a line for the person has less
	if got := r.Find(told); len(got) != 1 || !strings.Contains(got[0].Text, "You and amber "+told) {
		t.Errorf("birch is not told once of amber:\n%s", r)
	}
	if r := write(file, "shared-two", "Shared two."); len(r.Find(told)) != 1 {
		t.Errorf("birch is told again:\n%s", r)
	}
	c.model.Script(lab.Say("I see."))
	c.p.Submit("what is new?")
	c.p.WaitShown("I see.")
	claudeIdle(c.Lab, c.model)
	if r := last(c.model); len(r.Find("You and birch "+told)) != 1 {
		t.Errorf("amber is not told once of birch:\n%s", r)
	}
}

// Gemini CLI and Qwen Code show their models nothing before a call, but refuse it; the warning
// comes with the call's result.
func TestGeminiIsWarnedOfAFileThatClaudeHasClaimed(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedGemini(nil)
	c := claimantAt(t, l)
	p := geminiRegisters(l, model, "birch")
	write := func(file, word, answer string) *lab.Request {
		model.Script(lab.Call("write_file", map[string]any{"file_path": file, "content": word}), lab.Say(answer))
		p.Submit("please write " + word)
		p.WaitShown(answer)
		hooksSayIdle(l, "birch")
		return last(model)
	}
	c.bothAreTold(t, write, nil)
	c.isWarned(t, write)
}

func TestQwenIsWarnedOfAFileThatClaudeHasClaimed(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedQwen(nil)
	c := claimantAt(t, l)
	model.Script(qwenTool("me", map[string]any{"alias": "birch"}), lab.Say("Registered."))
	p := l.QwenTUI(model)
	p.Submit("prompt-of-birch")
	p.WaitScreen(0, "Registered.")
	hooksSayIdle(l, "birch")
	write := func(file, word, answer string) *lab.Request {
		model.Script(lab.Call("write_file", map[string]any{"file_path": file, "content": word}), lab.Say(answer))
		p.Submit("please write " + word)
		p.WaitShown(answer)
		hooksSayIdle(l, "birch")
		return last(model)
	}
	c.bothAreTold(t, write, nil)
	c.isWarned(t, write)
}

// Copilot's extension runs, and brings the mail that may wake a session. Its model reads the rest.
func TestCopilotIsWarnedOfAFileThatClaudeHasClaimed(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCopilot(nil)
	c := claimantAt(t, l)
	model.Script(copilotTool("me", map[string]any{"alias": "birch"}), lab.Say("Registered."))
	p := l.CopilotTUI(model)
	p.Submit("prompt-of-birch")
	p.WaitShown("Registered.")
	copilotIdle(p)
	says := func(prompt, answer string, call lab.Reply) *lab.Request {
		model.Script(call, lab.Say(answer))
		p.Submit(prompt)
		p.WaitShown(answer)
		copilotIdle(p)
		return last(model)
	}
	write := func(file, word, answer string) *lab.Request {
		old := "word-none"
		if data, err := os.ReadFile(file); err == nil {
			old = string(data)
		} else {
			l.WriteProject(filepath.Base(file), old)
		}
		return says("please write "+word, answer, lab.Call("edit", map[string]any{"path": file, "old_str": old, "new_str": word}))
	}
	c.bothAreTold(t, write, func(answer string) *lab.Request {
		return says("please read", answer, copilotTool("poll_inbox", map[string]any{}))
	})
	c.isWarned(t, write)
}

// OpenCode's plugin asks before the call, and the warning comes with its result.
func TestOpenCodeIsWarnedOfAFileThatClaudeHasClaimed(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedOpenCode(model, nil)
	c := claimantAt(t, l)
	model.Script(opencodeTool("me", map[string]any{"alias": "birch"}), lab.Say("Registered."))
	p := l.OpenCodeTUI()
	p.Submit("prompt-of-birch")
	p.WaitShown("Registered.")
	says := func(prompt, answer string, call lab.Reply) *lab.Request {
		model.Script(call, lab.Say(answer))
		p.Submit(prompt)
		p.WaitShown(answer)
		return last(model)
	}
	write := func(file, word, answer string) *lab.Request {
		return says("please write "+word, answer, lab.Call("write", map[string]any{"filePath": file, "content": word}))
	}
	c.bothAreTold(t, write, func(answer string) *lab.Request {
		return says("please read", answer, opencodeTool("poll_inbox", map[string]any{}))
	})
	c.isWarned(t, write)
}

// Kimi Code shows its model nothing of the hooks around a call, but refuses the call. So the
// warning is a message of c2c, which the hook at the end of the turn brings.
func TestKimiIsWarnedOfAFileThatClaudeHasClaimed(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedKimi(model, "")
	c := claimantAt(t, l)
	c.warning = "You have edited it, or tried to"
	p := kimiRegisters(l, model, "birch")
	turns := 1
	write := func(file, word, answer string) *lab.Request {
		model.Script(lab.Call("Write", map[string]any{"path": file, "content": word}))
		if word == "shared-one" || word == "word-one" { // mail continues the turn
			model.Script(lab.Say("So far."))
		}
		model.Script(lab.Say(answer))
		p.Submit("please write " + word)
		p.WaitShown(answer)
		turns++
		kimiIdle(l, "prompt-of-birch", turns)
		return last(model)
	}
	c.bothAreTold(t, write, nil)
	c.isWarned(t, write)
}

// A patch names its files in its text, and a subagent's call has the id of another session.
func TestAPatchAndASubagentOfOpenCodeAreWarned(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedOpenCode(model, map[string]any{"model": "lab/gpt-5-lab", // such a model has the tool apply_patch
		"provider": map[string]any{"lab": map[string]any{"models": map[string]any{"gpt-5-lab": map[string]any{"tool_call": true}}}}})
	c := claimantAt(t, l)
	patch := func(body string) lab.Reply {
		return lab.Call("apply_patch", map[string]any{"patchText": "*** Begin Patch\n" + body + "\n*** End Patch"})
	}
	model.Script(opencodeTool("me", map[string]any{"alias": "birch"}), patch("*** Add File: flags.go\n+word-one"), lab.Say("Patched."))
	p := l.OpenCodeTUI()
	p.Submit("prompt-of-birch")
	p.WaitShown("Patched.")
	if r := last(model); len(r.Find(c.warning)) != 1 {
		t.Errorf("a patch is not warned of once:\n%s", r)
	}
	inside(model, "prompt-of-birch", patch("*** Update File: flags.go\n@@\n-word-one\n+word-two"), lab.Say("Subagent says done."))
	model.Script(lab.Call("task", map[string]any{"description": "work", "prompt": "prompt-of-the-subagent", "subagent_type": "general"}), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	if data, err := os.ReadFile(c.file); err != nil || string(data) != "word-two\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	warned := slices.ContainsFunc(model.Turns(), func(r *lab.Request) bool {
		return len(r.Find("prompt-of-birch")) == 0 && len(r.Find(c.warning)) == 1
	})
	if !warned {
		t.Error("a subagent is not warned")
	}
}

// The hook before an edit of a subagent has the id of its session, which gets the message.
func TestAnEditOfASubagentOfKimiIsToldToItsSession(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedKimi(model, "")
	c := claimantAt(t, l)
	p := kimiRegisters(l, model, "birch")
	left := inside(model, "prompt-of-birch", lab.Call("Write", map[string]any{"path": c.file, "content": "word-one"}),
		lab.Say("The subagent is done and says so at some length, so that nobody asks it for more."))
	model.Script(kimiAgent("prompt-of-the-subagent", false), lab.Say("Finished."), lab.Say("Answered."))
	p.Submit("prompt-two")
	p.WaitShown("Answered.")
	const warning = "You have edited it, or tried to"
	once(t, model.WaitText(warning), warning)
	for _, r := range model.Turns() {
		if len(r.Find(warning)) > 0 && len(r.Find("prompt-of-birch")) == 0 {
			t.Errorf("the subagent got it:\n%s", r)
		}
	}
	mailStaysOutside(t, l, model, lab.Kimi, "prompt-of-birch", left)
}
