package install

import (
	"strings"
	"testing"
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
			`{"a": 1, /* b */}`, `{"a": 1, /* b */"mcpServers":{"c2c":{"type":"stdio","command":"/new/c2c","args":["mcp"],"env":{"C2C_MCP_CLIENT_TYPE":"claude"},"alwaysLoad":true}},}`},
		{"table keeps its settings", codexServer(o),
			"[mcp_servers.c2c]\n  args = [\"mcp\"]\n  command   =  '/old/c2c'  # here\ntool_timeout_sec = 9\n[mcp_servers.c2c.tools.send]\napproval_mode = \"prompt\"\n",
			"[mcp_servers.c2c]\n  args = [\"mcp\"]\n  command   =  \"/new/c2c\"  # here\ntool_timeout_sec = 9\n[mcp_servers.c2c.tools.send]\napproval_mode = \"prompt\"\n"},
		{"a command that is no string is replaced", codexServer(o),
			"[mcp_servers.c2c]\nargs = [\"mcp\"]\ncommand = [\"a\",\n\"b\"]\n", "[mcp_servers.c2c]\nargs = [\"mcp\"]\ncommand = \"/new/c2c\"\n"},
		{"hook keeps its time limit and place", commandHooks(Codex, o, hookEvent{name: "Stop"}),
			`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"timeout": 3, "command": "'/o p/c2c' hook --client codex"}]}, {"hooks": [{"command": "c2c hook --client codex"}]}, {"hooks": [{"command": "/new/my-c2c hook --client codex"}]}]}}`,
			`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"timeout": 3, "command": "/new/c2c hook --client codex"}]}, {"hooks": [{"command": "/new/my-c2c hook --client codex"}]}]}}`},
		{"a table of hooks keeps its time limit and place, another one goes", tomlHooks{commandHooks(Kimi, o, hookEvent{name: "Stop"}, hookEvent{name: "Interrupt"})},
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
			"{\n  \"mcpServers\": {\n    // one\n    \"c2c\": {},\n    // two\n    \"b\": {} // three\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    // one\n    // two\n    \"b\": {} // three\n  }\n}\n"},
		{"last of two", claudeServerEditor(o),
			"{\n  \"mcpServers\": {\n    \"b\": {}, // one\n    \"c2c\": {} // two\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"b\": {} // one\n // two\n  }\n}\n"},
		{"table", codexServer(o),
			"a = 1\n\n# one\n[mcp_servers.c2c]\nb = 1\n# two\n\n# three\n[c]\n", "a = 1\n\n# one\n# two\n\n# three\n[c]\n"},
	} {
		got, err := c.editor.strip("f", []byte(c.before), nil)
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
