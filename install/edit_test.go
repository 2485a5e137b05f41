package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/client"
	"c2c/e2e/need"
	"c2c/internal/format"
)

// What people tuned in our own parts stays when the program moves; another
// copy of ours goes, and what only looks like ours stays.
func TestAddUpdatesOursInPlace(t *testing.T) {
	o := fuzzOptions()
	o.Binary = "/new/c2c"
	for _, c := range []struct {
		name         string
		editor       editor
		before, want string
	}{
		{"server keeps its environment", claudeServerEditor(o),
			`{"mcpServers": {"c2c": {"command": "/old/c2c", "args": ["mcp"], "env": {"A": "b"}, "alwaysLoad": false}}}`,
			`{"mcpServers": {"c2c": {"command": "/new/c2c", "args": ["mcp"], "env": {"A": "b"}, "alwaysLoad": false}}}`},
		{"a comment behind the last comma stays once", claudeServerEditor(o),
			`{"a": 1, /* b */}`, `{"a": 1, /* b */"mcpServers": {"c2c":{"type":"stdio","command":"/new/c2c","args":["mcp"],"env":{"C2C_MCP_CLIENT_TYPE":"claude"},"alwaysLoad":true}},}`},
		{"table keeps its settings", codexServer(o),
			"[mcp_servers.c2c]\n  args = [\"mcp\"]\n  command   =  '/old/c2c'  # here\ntool_timeout_sec = 9\n[mcp_servers.c2c.tools.send]\napproval_mode = \"prompt\"\n",
			"[mcp_servers.c2c]\n  args = [\"mcp\"]\n  command   =  \"/new/c2c\"  # here\ntool_timeout_sec = 9\n[mcp_servers.c2c.tools.send]\napproval_mode = \"prompt\"\n"},
		{"a command that is no string is replaced", codexServer(o),
			"[mcp_servers.c2c]\nargs = [\"mcp\"]\ncommand = [\"a\",\n\"b\"]\n", "[mcp_servers.c2c]\nargs = [\"mcp\"]\ncommand = \"/new/c2c\"\n"},
		{"hook keeps its time limit and place", commandHooks(Codex, o, at("Stop")),
			`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"timeout": 3, "command": "'/o p/c2c' hook --client codex"}]}, {"hooks": [{"command": "c2c hook --client codex"}]}, {"hooks": [{"command": "/new/my-c2c hook --client codex"}]}]}}`,
			`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"timeout": 3, "command": "/new/c2c hook --client codex"}]}, {"hooks": [{"command": "/new/my-c2c hook --client codex"}]}]}}`},
		{"a table of hooks keeps its time limit and place, another one goes", tomlHooks{commandHooks(Kimi, o, at("Stop", "Interrupt"))},
			"[[hooks]]\ncommand = \"/old/c2c hook --client kimi\" # moved\nevent = \"Stop\"\ntimeout = 3\n\n[[hooks]]\nevent = \"Stop\"\ncommand = '/old/c2c hook --client kimi'\n\n# Mine.\n" +
				"[[hooks]]\nevent = \"Stop\"\ncommand = \"say hook --client kimi\"\n\n[[hooks]]\nevent = \"Gone\"\ncommand = \"'/o p/c2c' hook --client kimi\"\n\n[thinking]\na = 1\n",
			"[[hooks]]\ncommand = \"/new/c2c hook --client kimi\" # moved\nevent = \"Stop\"\ntimeout = 3\n\n# Mine.\n" +
				"[[hooks]]\nevent = \"Stop\"\ncommand = \"say hook --client kimi\"\n\n[thinking]\na = 1\n\n[[hooks]]\nevent = \"Interrupt\"\ncommand = \"/new/c2c hook --client kimi\"\ntimeout = 10\n"},
		{"an original hook among others gets a group of its own", hookEditor{command: "/h/" + scriptName,
			events: []hookEvent{{name: "Stop", legacy: []string{".*"}}}, ours: claudeHooks("/h/x").ours},
			`{"hooks":{"Stop":[{"matcher":".*","hooks":[{"command":"\"/h/c2c-inbox-check.sh\""},{"command":"a"}]}]}}`,
			`{"hooks":{"Stop":[{"matcher":".*","hooks":[{"command":"a"}]},{"hooks":[{"type":"command","command":"/h/c2c-inbox-check.sh","timeout":10}]}]}}`},
	} {
		got, err := c.editor.add("f", []byte(c.before))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: error %v and\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

func TestCommentsAroundOursStay(t *testing.T) {
	o := fuzzOptions()
	for _, c := range []struct {
		name         string
		editor       editor
		before, want string
	}{
		{"first of two", claudeServerEditor(o),
			"{\n  \"mcpServers\": {\n    // one\n    \"c2c\": {\"args\": [\"mcp\"]},\n    // two\n    \"b\": {} // three\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    // one\n    // two\n    \"b\": {} // three\n  }\n}\n"},
		{"last of two", claudeServerEditor(o),
			"{\n  \"mcpServers\": {\n    \"b\": {}, // one\n    \"c2c\": {\"args\": [\"mcp\"]} // two\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"b\": {} // one\n // two\n  }\n}\n"},
		{"table", codexServer(o),
			"a = 1\n\n# one\n[mcp_servers.c2c]\nargs = [\"mcp\"]\n# two\n\n# three\n[c]\n", "a = 1\n\n# one\n# two\n\n# three\n[c]\n"},
	} {
		got, err := c.editor.strip("f", []byte(c.before), []byte{})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: error %v and\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

func TestShellQuoteIsUndone(t *testing.T) {
	for _, s := range []string{"/a/b", "/a b/c", "it's", `"x"`, "$HOME/x", ""} {
		quoted := shellQuote(s)
		if got := firstWord(quoted + " mcp"); got != s {
			t.Errorf("%q quoted is %s, unquoted %q", s, quoted, got)
		}
		if strings.ContainsAny(s, " '\"$") && quoted[0] != '\'' {
			t.Errorf("%q is quoted as %s", s, quoted)
		}
	}
}

// What its person has set stays, before an install and after an uninstall.
func TestAFlagThatAPersonHasSetStays(t *testing.T) {
	for before, edited := range map[string]string{
		`{"enabledFeatureFlags":{"EXTENSIONS":false},"theme":"a"}`: `{"enabledFeatureFlags":{"EXTENSIONS":true},"theme":"b"}`,
		`{"enabledFeatureFlags":{"EXTENSIONS":null}}`:              `{"enabledFeatureFlags":{"EXTENSIONS":null,"x":1}}`,
		`{"enabledFeatureFlags":{"EXTENSIONS":true}}`:              `{"enabledFeatureFlags":{"EXTENSIONS":true},"x":1}`,
	} {
		b := newBox(t)
		b.write("home/.copilot/settings.json", before, 0o600)
		notes := strings.Join(b.plan(Copilot).Notes, "\n")
		if strings.Contains(notes, "stay off") == strings.Contains(before, "true") {
			t.Errorf("%s: it says %q", before, notes)
		}
		b.install(Copilot)
		if got := b.read("home/.copilot/settings.json"); got != before {
			t.Errorf("%s became %s", before, got)
		}
		b.write("home/.copilot/settings.json", edited, 0o600)
		b.uninstall(Copilot)
		if got := b.read("home/.copilot/settings.json"); got != edited {
			t.Errorf("%s became %s", edited, got)
		}
	}
}

func TestABrokenJournalIsOneFinding(t *testing.T) {
	for _, text := range []string{"{", `{"version":1,"files":[null]}`, `{"version":9}`} {
		b := newBox(t)
		b.install(Codex)
		b.write("home/.local/state/c2c/install/undo.json", text, 0o600)
		if _, err := PlanUninstall(Codex, b.o); err == nil {
			t.Errorf("%s: no error", text)
		}
		if found := InspectJournal(b.o); len(found) != 1 || found[0].Status != format.Problem {
			t.Errorf("%s: %v", text, found)
		}
		for _, client := range client.Names() {
			if _, err := Inspect(client, b.o); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// A Copilot that was killed may leave half a line, and the next one begins behind it.
func TestHalfALineOfCopilotsEventsHidesNoOther(t *testing.T) {
	need.Tools(t, "node")
	dir := t.TempDir()
	_, code, _ := strings.Cut(string(copilotExtension), "// conversation gives")
	code, _, _ = strings.Cut(code, "// envelope is")
	code = `import { readFile } from "node:fs/promises"
import { join } from "node:path"
const session = { workspacePath: process.cwd() }
//` + code + `
console.log((await conversation()).join("|"))`
	events := `{"type":"user.message","data":{"content":"one"}}
{"type":"user.message","data":{"content":"ha
{"type":"user.message","data":{"content":"two"}}
`
	for name, text := range map[string]string{"test.mjs": code, "events.jsonl": events} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "test.mjs")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || strings.Trim(string(out), "|\n") != "one||two" {
		t.Errorf("%v, %s", err, out)
	}
}

// The posts of rooms that were in a message that Copilot did not take come with the same mail when
// c2c offers it again.
func TestCopilotGetsThePostsAgainThatItDidNotTake(t *testing.T) {
	need.Tools(t, "node")
	dir := t.TempDir()
	const sdk = `let sent = 0
const session = {
  sessionId: "s", workspacePath: ".", on: () => {},
  send: async ({ prompt }) => {
    console.log(prompt)
    if (++sent === 2) process.exit(0)
    throw new Error("busy")
  },
}
export const joinSession = async () => session`
	const c2c = `import { createInterface } from "node:readline"
const say = (line) => console.log(JSON.stringify(line))
createInterface({ input: process.stdin }).on("line", (line) => {
  const heard = JSON.parse(line)
  if (heard.shown || heard.refused) say({ mail: [{ key: "m", text: "<c2c >mail</c2c>" }] })
  if (heard.news) say({ call: heard.call, news: { key: "p", text: "posts" } })
})`
	for name, text := range map[string]string{
		"test.mjs": string(copilotExtension),
		"c2c.mjs":  c2c,
		"c2c":      "#!/bin/sh\nexec node c2c.mjs\n",
		"node_modules/@github/copilot-sdk/package.json": `{"type":"module","exports":{"./extension":"./extension.js"}}`,
		"node_modules/@github/copilot-sdk/extension.js": sdk,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "test.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	const want = "<c2c >mail</c2c>\nposts\n"
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != want+want {
		t.Errorf("%v, %s", err, out)
	}
}

// A Claude Code that was killed may leave an empty file among its sessions.
func TestADamagedSessionOfTheClientKeepsNoMessageOfTheMod(t *testing.T) {
	need.Tools(t, "node")
	dir := t.TempDir()
	const test = `import { register } from "./claude.mjs"
const files = { "sessions/1.json": "", "sessions/2.json": "null", "sessions/3.json": '{"name":"Birch"}' }
const $ = {
  session: { id: async () => "s", version: async () => ({ version: "2.1.329" }) },
  command: { register: async () => {} },
  clock: { every: () => {} },
  ui: { status: () => {}, toast: () => {}, log: () => {} },
  agent: { list: async () => [] },
  fs: { list: async () => Object.keys(files).map((f) => ({ name: f.slice("sessions/".length) })), read: async (f) => files[f] },
  process: { run: async (words) => ({ exitCode: 0, stdout: words.includes("--check") ? '{"count":0,"from":[],"watch":""}' : "", stderr: "" }) },
}
const on = {}
register((event, ...rest) => (on[event] = rest.at(-1)))
await on["session.start"]($, { cwd: "/" }, async () => {})
await new Promise((done) => setTimeout(done))
for (const to of ["amber", "birch"]) console.log(to, JSON.stringify(await on["session.send"]($, { to, text: "x" }, async () => "the client's")))`
	for name, text := range map[string]string{"test.mjs": test, "claude.mjs": string(claudeMod)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "test.mjs")
	cmd.Dir = dir
	const want = "amber {\"isDelivered\":true}\nbirch \"the client's\"\n"
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
		t.Errorf("%v, %s", err, out)
	}
}

// Finding the line took as many looks at the file as it has lines behind the damage.
func TestALongFileThatIsDamagedIsToldItsLine(t *testing.T) {
	good := strings.Repeat("[a]\nb = 1\n", 5000)
	for damage, line := range map[string]int{"oops\n" + good: 1, good + "b = \n" + good: 10_001, good + "[c\n": 10_001} {
		if _, err := parseTOML("config.toml", []byte(damage)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line %d:", line)) {
			t.Errorf("%v, want line %d", err, line)
		}
	}
}
