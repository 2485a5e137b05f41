package e2e

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// Without c2c install, one command starts a client in which everything of c2c works. The person's own
// hook and server work beside it. Nobody answers a question here, so the client asks none. When the
// session has ended, c2c has left nothing behind (leavesNothing). idle waits until the client's turn is
// over, and by is the way by which mail wakes it then.
func aloneWorks(t *testing.T, l *lab.Lab, model *lab.Model, start func() *lab.Proc, c lab.Client, idle func(), by string, bash func(string) lab.Reply) {
	t.Helper()
	before := homeFiles(t, l)
	p := start()
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
	if got := l.Run(c2c(), "doctor", "--json"); strings.Contains(got, `"status":"problem"`) {
		t.Errorf("doctor says\n%s", got)
	}
	idle()
	p.Command("/exit")
	p.Wait()
	leavesNothing(t, l, before)
}

// namesC2C are the files of a home, outside c2c's folders, that name c2c after a session.
var namesC2C = []struct{ files, why string }{
	{".claude/projects/*/*.jsonl", "the conversation, with the mail, the calls of tools and the hooks that ran"},
	{".cache/claude-cli-nodejs/*/mcp-logs-c2c/*", "Claude Code's log of a server, in a folder of the server's name"},
	{".qwen/projects/*/chats/*", "the conversation"},
	{".qwen/usage_record.jsonl", "how often each tool was called"},
	{".local/share/opencode/opencode.db*", "the conversations"},
	{".local/share/opencode/log/*", "OpenCode's log, with each call of a tool"},
	{".codex/sessions/*/*/*/*.jsonl", "the conversation"},
	{".codex/thread_history_*.sqlite*", "the conversations"},
	{".codex/state_*.sqlite*", "the list of the conversations, each with the program that began it"},
	{".codex/packages/*", "Codex's own programs: these bytes are in them by chance"},
	{".copilot/session-state/*", "the conversation"},
	{".copilot/session-store.db*", "the conversations"},
	{".copilot/logs/*", "Copilot's log, with the programs that it starts"},
	{".cache/copilot/mcp-tools/*", "what the servers' tools take"},
	{"probe.jsonl", "what the test's server was told"},
}

// homeFiles returns the files of the home that are not below c2c's own folders.
func homeFiles(t *testing.T, l *lab.Lab) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(l.Home, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(l.Home, path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a process of the client ends
			return nil
		case err != nil:
			return err
		case name == ".c2c", name == ".local/state/c2c":
			return fs.SkipDir
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			files[name] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// spellsC2C finds c2c and c2cd as words, and not within a number in hexadecimal or a UUID.
var spellsC2C = regexp.MustCompile(`(?:^|[^0-9A-Za-z-])c2cd?(?:[^0-9A-Za-z]|$)`)

// leavesNothing compares the home with what it was before a session. The person's files are there,
// and byte for byte the same, but for those that the client itself goes on writing. No file names
// c2c, by its name or in it, but for those of namesC2C.
func leavesNothing(t *testing.T, l *lab.Lab, before map[string]string) {
	t.Helper()
	// Each of these adds to a person's file by itself: counters, a version, a schema, what it has shown.
	byClient := []string{".claude.json", ".codex/config.toml", ".copilot/config.json", ".qwen/settings.json", ".config/opencode/opencode.json"}
	after := homeFiles(t, l)
	for name, was := range before {
		if is, there := after[name]; !there || is != was && !slices.Contains(byClient, name) {
			t.Errorf("%s of the person was\n%s\nand is now\n%s", name, was, is)
		}
	}
	for name, text := range after {
		known := slices.ContainsFunc(namesC2C, func(f struct{ files, why string }) bool {
			whole, err := filepath.Match(f.files, name)
			folder, below := strings.CutSuffix(f.files, "*")
			return err == nil && whole || below && !strings.Contains(folder, "*") && strings.HasPrefix(name, folder)
		})
		// The lab and the clients are below a folder of c2c's name; some clients write - for each / and dot.
		place := filepath.Dir(filepath.Dir(filepath.Dir(l.Home)))
		text = strings.NewReplacer(place, "", strings.NewReplacer("/", "-", ".", "-").Replace(place), "").Replace(name + "\n" + text)
		if at := spellsC2C.FindStringIndex(text); at != nil && !known {
			t.Errorf("c2c is in %s: …%q…", name, text[max(0, at[0]-60):min(len(text), at[1]+60)])
		}
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
	aloneWorks(t, l, model, func() *lab.Proc {
		p := l.Terminal(l.ClaudeEnv(model), startAlone("claude", "--permission-mode", "default")...)
		p.WaitScreen(0, "? for shortcuts")
		return p
	}, lab.Claude, func() { claudeIdle(l, model) }, "socket", func(command string) lab.Reply {
		return lab.Call("Bash", map[string]any{"command": command, "description": "run it"})
	})
}

func TestAQwenIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, servers := birchLab(t)
	l.SeedQwen(map[string]any{"mcpServers": servers, "hooks": map[string]any{"PostToolUse": lab.ClaudeHook("touch ~/own-hook")}})
	aloneWorks(t, l, model, func() *lab.Proc {
		p := l.Terminal(l.QwenEnv(model), startAlone("qwen")...)
		p.WaitShown("Type your message")
		return p
	}, lab.Qwen, func() { hooksSayIdle(l, "amber") }, "socket", func(command string) lab.Reply {
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
	aloneWorks(t, l, model, func() *lab.Proc {
		p := l.Terminal(append(l.OpenCodeEnv(), `OPENCODE_CONFIG_CONTENT={"plugin":["`+l.Home+`/own.ts"]}`), startAlone("opencode")...)
		p.WaitShown("Ask anything")
		return p
	}, lab.OpenCode, func() { hooksSayIdle(l, "amber") }, "plugin", func(command string) lab.Reply {
		return lab.Call("bash", map[string]any{"command": command, "description": "run it"})
	})
}

func TestACopilotIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, servers := birchLab(t)
	l.SeedCopilot(map[string]any{"defaultPermissionMode": "manual"})
	l.Write(".copilot/hooks/own.json", jsonText(map[string]any{"version": 1, "hooks": map[string]any{"postToolUse": []any{map[string]any{"type": "command", "bash": "touch ~/own-hook"}}}}))
	probe := servers["probe"].(map[string]any)
	l.Write(".copilot/mcp-config.json", jsonText(map[string]any{"mcpServers": map[string]any{"probe": map[string]any{"type": "local", "command": probe["command"], "args": probe["args"], "tools": []string{"*"}}}}))
	aloneWorks(t, l, model, func() *lab.Proc {
		p := l.Terminal(l.CopilotEnv(model), startAlone("copilot", "--allow-all-paths", "--allow-tool", "probe", "--allow-tool", "shell")...)
		p.WaitShown("? help")
		return p
	}, lab.Copilot, func() { hooksSayIdle(l, "amber") }, "plugin", func(command string) lab.Reply {
		return lab.Call("bash", map[string]any{"command": command, "description": "run it"})
	})
}

// Codex takes neither a server nor hooks for one session. Mail wakes it all the same, and c2c says
// what is missing, also when Codex has wiped the line of c2c start from the screen.
func TestACodexIsStartedByNameWithoutInstall(t *testing.T) {
	t.Parallel()
	l, model, _ := birchLab(t)
	l.SeedCodex(model, "")
	l.Run(c2c(), "install", "codex") // that it was there once does not matter
	l.Run(c2c(), "uninstall", "codex")
	before := homeFiles(t, l)
	model.Answer(func(r *lab.Request) (lab.Reply, bool) { return lab.Say("Woken."), true })
	p := l.Terminal(l.CodexEnv(), startAlone("codex")...)
	p.WaitScreen(0, "›")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile\n")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-meanwhile", "read by server")
	p.WaitShown("›")
	eventually(t, func() bool { return regexp.MustCompile(`(?m)^amber +idle `).MatchString(l.Run(c2c(), "list")) })
	if got := l.Run(c2c(), "list"); !strings.Contains(got, "amber: this codex has no tools of c2c") {
		t.Errorf("list says\n%s", got)
	}
	p.Command("/quit")
	p.Wait()
	leavesNothing(t, l, before)
	// Codex itself adds lines at the end.
	if got := l.Read(".codex/config.toml"); !strings.HasPrefix(got, strings.TrimSpace(before[".codex/config.toml"])) || strings.Contains(got, "mcp_servers") || strings.Contains(got, "hooks") {
		t.Errorf("its configuration is now\n%s", got)
	}
}

func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
