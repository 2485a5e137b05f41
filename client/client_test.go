package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

func TestEveryProfileIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if p.Name == "" || p.AliasPrefix == "" || p.ConfigDir == "" {
			t.Errorf("profile %+v lacks a name, an alias prefix or a directory", p)
		}
		if (p.TrustEnv || p.ShellEnv) && p.SessionEnv == "" {
			t.Errorf("%s: trusts an environment variable it does not name", p.Name)
		}
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if seen[name] {
				t.Errorf("%s: listed twice", name)
			}
			seen[name] = true
			if got, ok := Find(name); !ok || got.Name != p.Name {
				t.Errorf("Find(%q) = %q, %v", name, got.Name, ok)
			}
		}
		if got, ok := ByInfo(p.Info + "-mcp-client"); p.Info != "" && (!ok || got.Name != p.Name) {
			t.Errorf("%s: its clientInfo is taken for that of %q", p.Name, got.Name)
		}
	}
}

func TestAnUnknownClientHasNoProfile(t *testing.T) {
	if p, ok := Find(""); ok {
		t.Errorf("no name finds %s", p.Name)
	}
	for _, info := range []string{"", "gem", "my-claude-code"} {
		if p, ok := ByInfo(info); ok {
			t.Errorf("clientInfo %q finds %s", info, p.Name)
		}
	}
}

func TestConfigFollowsTheVariable(t *testing.T) {
	for _, p := range All() {
		env := map[string]string{"HOME": "/h"}
		getenv := func(name string) string { return env[name] }
		if dir, set := p.Config(getenv); dir != "/h/"+p.ConfigDir || set {
			t.Errorf("%s: %q, %v", p.Name, dir, set)
		}
		env[p.ConfigEnv] = "/elsewhere/"
		if dir, set := p.Config(getenv); p.ConfigEnv != "" && (dir != "/elsewhere" || !set) {
			t.Errorf("%s: %q, %v", p.Name, dir, set)
		}
	}
}

func TestCleanTakesOutWhatAnOuterSessionLeft(t *testing.T) {
	got := Clean([]string{"PATH=/bin", "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CODEX_THREAD_ID=y", "C2C_MCP_SESSION_ID=z", "CODEX_HOME=/h"})
	if want := []string{"PATH=/bin", "CODEX_HOME=/h"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

func TestAProcessSaysItsSession(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"QWEN_HOME": dir}[name] }
	file := filepath.Join(dir, "sessions", "7.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"schemaVersion":1,"pid":7,"sessionId":"s-1"}`: "s-1", `{"pid":8,"sessionId":"s-1"}`: "",
		`{"pid":7,"sessionId":3}`: "", `{`: "", ``: "", `[]`: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := qwen().SessionOf(7, getenv); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := qwen().SessionOf(7, getenv) + qwen().SessionOf(8, getenv) + claude().SessionOf(7, getenv); got != "" {
		t.Errorf("a pipe, no file, or another client: %q", got)
	}
}

func TestAProjectsFileProposesAnAlias(t *testing.T) {
	p, dir := opencode(), t.TempDir()
	path := filepath.Join(dir, p.ProjectFile)
	if got := p.ProposedAlias(dir); got != "" {
		t.Errorf("without a file: %q", got)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"session_id":"opencode-x","alias":"amber","broker_root":"/tmp/x"}`: "amber",
		`{"alias":7}`: "", `["amber"]`: "", "": "", `{"alias":"` + strings.Repeat("x", 1<<20) + `"}`: "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.ProposedAlias(dir); got != want {
			t.Errorf("%.40s: %.40q", text, got)
		}
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := p.ProposedAlias(dir); got != "" {
		t.Errorf("of a FIFO: %q", got)
	}
}

func FuzzAProjectsFile(f *testing.F) {
	f.Add(`{"session_id":"opencode-x","alias":"amber"}`)
	f.Add(`[{"alias":{"alias":"amber"}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		p, dir := opencode(), t.TempDir()
		path := filepath.Join(dir, p.ProjectFile)
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := p.ProposedAlias(dir); len(got) > maxFile || !utf8.ValidString(got) {
			t.Errorf("proposed %d bytes: %.40q", len(got), got)
		}
	})
}

func TestAProcessSaysThatItServesManySessions(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"KIMI_CODE_HOME": dir}[name] }
	files := filepath.Join(dir, "server", "instances")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port, self := l.Addr().(*net.TCPAddr).Port, os.Getpid()
	for name, text := range map[string]string{"a.json": fmt.Sprintf(`{"pid":%d,"port":%d,"host":"127.0.0.1"}`, self, port), "b.json": `{`} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]int{self: port, os.Getppid(): 0, 0: 0} {
		if port, ok := kimi().Server(pid, getenv); port != want || ok != (want != 0) || kimi().Shared(pid, getenv) != ok {
			t.Errorf("process %d: port %d, %v", pid, port, ok)
		}
	}
	if !codex().Shared(9, getenv) || claude().Shared(self, getenv) {
		t.Error("another client")
	}
	// The process that wrote the file has ended, or is in another container: this one has its
	// number.
	if l.Close(); runtime.GOOS == "linux" && kimi().Shared(self, getenv) {
		t.Error("a process that does not listen there is taken for a server")
	}
}

// A person who has to close a client knows it by its name, not by the name of its process, such as
// node or MainThread.
func TestAProcessIsNamedAfterItsClient(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/bin/claude --continue":                                           "claude",
		"node /home/dana/.npm/bin/gemini --resume":                             "gemini",
		"node --max-old-space-size=4096 /opt/node_modules/.bin/gemini":         "gemini",
		"/usr/bin/node /usr/lib/node_modules/@qwen-code/qwen-code/cli.js -p x": "qwen",
		"node /usr/lib/node_modules/@moonshot-ai/kimi-code/dist/main.mjs":      "kimi",
		"/usr/lib/node_modules/@openai/codex/bin/codex app-server --listen x":  "codex in the background, with codex app-server daemon stop",
		"codex resume":                         "codex",
		"node /home/dana/src/gemini/server.js": "", "vim notes": "", "": "",
	} {
		if got := Running(strings.Split(line, " ")); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Without a stored conversation, a client cannot open a session again.
func TestAConversationIsStoredWithItsFirstTurn(t *testing.T) {
	const id = "e6de72c7-e82e-48ab-bc0b-4000652667ec"
	for name, file := range map[string]string{
		"claude": "projects/-work/" + id + ".jsonl", "codex": "sessions/2026/11/28/rollout-2026-11-28T07-43-26-" + id + ".jsonl", "copilot": "session-state/" + id + "/events.jsonl",
		"qwen": "projects/-work/chats/" + id + ".jsonl", "kimi": "sessions/wd_shop/" + id + "/state.json", "gemini": "tmp/shop/chats/session-2026-11-28T07-46-e6de72c7.jsonl",
	} {
		home := t.TempDir()
		getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
		p, _ := Find(name)
		stored := func(id string) bool {
			return strings.Contains(p.Reopens("birch", id, getenv), p.Resume[strings.Index(p.Resume, " "):]+" "+id)
		}
		if stored(id) {
			t.Errorf("%s: a conversation is stored before its first turn", name)
		}
		path := filepath.Join(home, p.ConfigDir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if !stored(id) || stored("17a182e0-fecf-4276-8580-6d528575516a") || !strings.Contains(p.StoredAt, "*-%") && stored(id[9:]) {
			t.Errorf("%s: its conversation is not stored in %s, or another is", name, file)
		}
	}
}

func TestTheCommandThatOpensASessionAgain(t *testing.T) {
	for want, of := range map[string][2]string{
		"c2c start --alias birch claude -- --resume u-1": {"claude", "u-1"}, "codex resume u-1": {"codex", "u-1"},
		"c2c start --alias birch kimi -- --session u-1": {"kimi", "u-1"}, "c2c start --alias birch opencode -- --session u-1": {"opencode", "u-1"},
		"c2c start --alias birch claude": {"claude", ""}, "c2c start --alias birch codex": {"codex", ""}, "c2c start --alias birch kimi": {"kimi", ""}, "c2c start --alias birch cursor": {"cursor", ""},
		"c2c start --alias birch opencode": {"opencode", "x; id"}, "c2c start --alias birch qwen": {"qwen", "--yolo"}, "c2c start --alias birch copilot": {"copilot", "../u-1"},
	} {
		p, _ := Find(of[0])
		if got := p.Reopens("birch", of[1], nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestArgumentsThatOpenAnyConversationNameTheOwnOne(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] }
	for _, c := range []struct{ client, args, want, word string }{
		{"opencode", "--continue --model x", "--session id-1 --model x", "--continue"},
		{"opencode", "--session id-2", "--session id-2", ""},
		{"opencode", "", "", ""},
	} {
		p, _ := Find(c.client)
		own, word := p.GoesOn(strings.Fields(c.args), "id-1", getenv)
		if got := strings.Join(own, " "); got != c.want || word != c.word {
			t.Errorf("%s %s: %q, %q", c.client, c.args, got, word)
		}
	}
	for _, args := range []string{"--resume", "-r latest --yolo", "--yolo -r"} { // a conversation that Gemini has not stored
		p, _ := Find("gemini")
		if own, word := p.GoesOn(strings.Fields(args), "id-1", getenv); own != nil || word == "" {
			t.Errorf("%s: %q, %q", args, own, word)
		}
	}
	p, _ := Find("gemini")
	if own, word := p.GoesOn([]string{"--resume", "5"}, "id-1", getenv); len(own) != 2 || word != "" {
		t.Errorf("%q, %q", own, word)
	}
}
