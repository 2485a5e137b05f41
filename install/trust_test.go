package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/internal/format"
)

func problemsOf(t *testing.T, b *box, client string) (found []format.Finding) {
	t.Helper()
	all, err := Inspect(client, b.o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Status != format.OK {
			found = append(found, f)
		}
	}
	return found
}

func TestDoctorTellsWhetherTheFolderIsTrusted(t *testing.T) {
	b := newBox(t)
	b.install(Qwen)
	settings := b.read("home/.qwen/settings.json")
	for _, tc := range []struct{ asks, rules, want string }{
		{"false", `{}`, ""},
		{"true", `{}`, ""}, // it asks when it is started here
		{"true", ``, "unexpected EOF"},
		{"true", `{"PROJECT": "TRUST_FOLDER"} // by its person
`, ""},
		{"true", `{"PROJECT/": "TRUST_FOLDER"}`, ""},
		{"true", `{"PROJECT/sub": "DO_NOT_TRUST"}`, ""},
		{"true", `{"PROJECTS": "DO_NOT_TRUST"}`, ""},
		{"true", `{"PROJECT/../other": "TRUST_PARENT"}`, ""},
		{"true", `{"/": "TRUST_FOLDER", "PROJECT": "DO_NOT_TRUST"}`, "was told not to trust"},
		{"true", `{"/": "DO_NOT_TRUST", "PROJECT": "TRUST_FOLDER"}`, ""},
		{"true", `{"/": "DO_NOT_TRUST"}`, "was told not to trust"},
		{"true", `["PROJECT"]`, "cannot unmarshal"},
	} {
		b.write("home/.qwen/settings.json", strings.Replace(settings, "{", `{"security": {"folderTrust": {"enabled": `+tc.asks+`}},`, 1), 0o600)
		b.write("home/.qwen/trustedFolders.json", strings.ReplaceAll(tc.rules, "PROJECT", b.o.Project), 0o600)
		got := ""
		for _, f := range problemsOf(t, b, Qwen) {
			got += f.Part + ": " + f.Detail
		}
		if !strings.Contains(got, tc.want) || tc.want == "" && got != "" || tc.want != "" && !strings.HasPrefix(got, "folder trust: ") {
			t.Errorf("asks %s, %s: %q, want %q", tc.asks, tc.rules, got, tc.want)
		}
	}
}

func TestDoctorTellsWhatAPersonHasTurnedOffInGemini(t *testing.T) {
	b := newBox(t)
	b.install(Gemini)
	settings := b.read("home/.gemini/settings.json")
	for more, want := range map[string]string{
		``: "",
		`"security": {"folderTrust": {"enabled": false}},`:                                    "",
		`"security": {"folderTrust": {"enabled": false}}, "hooksConfig": {"enabled": true},`:  "",
		`"security": {"folderTrust": {"enabled": false}}, "hooksConfig": {"enabled": false},`: "hooks: hooksConfig.enabled is false",
	} {
		b.write("home/.gemini/settings.json", strings.Replace(settings, "{", "{"+more, 1), 0o600)
		got := ""
		for _, f := range problemsOf(t, b, Gemini) {
			got += f.Part + ": " + f.Detail
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("with %s: %q, want %q", more, got, want)
		}
	}
}

func TestDoctorTellsWhetherTheServerIsApproved(t *testing.T) {
	b := newBox(t)
	b.o.InProject = true
	b.install(Claude)
	for settings, want := range map[string]string{
		`{}`: "not yet approved", `{"enabledMcpjsonServers": ["other"]}`: "not yet approved", `{"enableAllProjectMcpServers": false}`: "not yet approved",
		`{"enabledMcpjsonServers": ["c2c"]}`: "", `{"enableAllProjectMcpServers": true}`: "",
		`{"enabledMcpjsonServers": ["c2c"], "disabledMcpjsonServers": ["c2c"]}`: "was told not to use",
	} {
		b.write("project/.claude/settings.local.json", settings, 0o600)
		got := ""
		for _, f := range problemsOf(t, b, Claude) {
			got += f.Detail
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", settings, got, want)
		}
	}
	b.write("project/.claude/settings.local.json", `{}`, 0o600)
	b.uninstall(Claude)
	b.o.InProject = false
	b.install(Claude) // the person's own server needs no approval
	if found := problemsOf(t, b, Claude); len(found) > 0 {
		t.Errorf("for all projects: %+v", found)
	}
}

// c2c install --project writes into the top of the repository, wherever below it doctor is run.
func TestDoctorTellsOfTheApprovalBelowTheTopOfARepository(t *testing.T) {
	b := newBox(t)
	b.write("project/.git/HEAD", "", 0o600)
	b.write("project/sub/file", "", 0o600)
	b.o.InProject, b.o.Project = true, b.path("project/sub")
	b.install(Claude)
	for settings, want := range map[string]string{`{}`: "not yet approved", `{"disabledMcpjsonServers": ["c2c"]}`: "was told not to use"} {
		b.write("project/.claude/settings.local.json", settings, 0o600)
		if found := problemsOf(t, b, Claude); len(found) != 1 || !strings.Contains(found[0].Detail, want) {
			t.Errorf("%s: %+v, want %q", settings, found, want)
		}
	}
}

func TestDoctorTellsOfAServerThatIsTurnedOffInItsEntry(t *testing.T) {
	for _, tc := range []struct{ client, file, old, new, want string }{
		{Codex, "home/.codex/config.toml", "[mcp_servers.c2c]\n", "[mcp_servers.c2c]\nenabled = false\n", "enabled is false"},
		{Codex, "home/.codex/config.toml", "[mcp_servers.c2c]\n", "[mcp_servers.c2c]\nenabled = true\n", ""},
		{Cursor, "home/.cursor/mcp.json", `"c2c": {`, `"c2c": {"disabled": true,`, "disabled is true"},
		{Cursor, "home/.cursor/mcp.json", `"c2c": {`, `"c2c": {"disabled": false,`, ""},
	} {
		b := newBox(t)
		b.install(tc.client)
		b.edit(tc.file, tc.old, tc.new)
		got := ""
		for _, f := range problemsOf(t, b, tc.client) {
			if f.Part == partServer {
				got += f.Detail
			}
		}
		if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s with %s: %q, want %q", tc.client, tc.new, got, tc.want)
		}
	}
}

// All entries of ours are there, and still no mail comes.
func TestDoctorTellsWhatIsTurnedOff(t *testing.T) {
	for _, tc := range []struct{ client, file, more, want string }{
		{Claude, "project/.claude/settings.local.json", `"disableAllHooks": true`, "disableAllHooks is true"},
		{Claude, "project/.claude/settings.local.json", `"disableAllHooks": false`, ""},
		{Claude, "home/.claude/settings.json", `"permissions": {"deny": ["Bash", "mcp__c2c"]}`, "permissions.deny has mcp__c2c"},
		{Claude, "project/.claude/settings.json", `"permissions": {"deny": ["mcp__c2cx"], "allow": ["mcp__c2c"]}`, ""},
		{Claude, "project/.claude/settings.json", `"deniedMcpServers": [{"serverCommand": ["$BOX/bin/c2c", "mcp"]}]`, "deniedMcpServers names c2c"},
		{Claude, "project/.claude/settings.json", `"deniedMcpServers": ["c2c", {"serverName": "other"}, {"serverCommand": ["c2c"]}]`, ""},
		{Claude, "project/.claude/settings.json", `"allowManagedHooksOnly": true`, ""}, // from an administrator alone
		{Claude, "home/.claude/settings.json", `"allowedMcpServers": []`, "allowedMcpServers does not name c2c"},
		{Claude, "home/.claude/settings.json", `"allowedMcpServers": [{"serverCommand": ["$BOX/bin/c2c", "mcp"]}]`, ""},
		{Claude, "home/.claude/settings.json", `"crossSessionInbound": "refuse"`, "crossSessionInbound is refuse"},
		{Claude, "project/.claude/settings.json", `"crossSessionInbound": "hold"`, "crossSessionInbound is hold"},
		{Claude, "home/.claude/settings.json", `"crossSessionInbound": "accept"`, ""},
		{Claude, "home/.claude.json", `"projects": {"$BOX/project": {"disabledMcpServers": ["c2c"]}}`, "c2c is disabled in this project"},
		{Claude, "home/.claude.json", `"projects": {"$BOX/other": {"disabledMcpServers": ["c2c"]}}`, ""},
		{Qwen, "home/.qwen/settings.json", `"disableAllHooks": true`, "disableAllHooks is true"},
		{Qwen, "project/.qwen/settings.json", `"disableAllHooks": true`, "disableAllHooks is true"},
		{Qwen, "home/.qwen/settings.json", `"mcp": {"excluded": ["other", "c2c"]}`, "mcp.excluded names c2c"},
		{Qwen, "home/.qwen/settings.json", `"mcp": {"excluded": ["other"], "allowed": ["c2c"]}`, ""},
		{Qwen, "home/.qwen/settings.json", `"agents": {"crossSessionInbound": "hold"}`, "crossSessionInbound is hold"},
		{Gemini, "home/.gemini/settings.json", `"mcp": {"allowed": ["other"]}`, "mcp.allowed does not name c2c"},
		{Gemini, "home/.gemini/settings.json", `"mcp": {"allowed": []}`, ""},
		{Gemini, "project/.gemini/settings.json", `"mcp": {"excluded": ["c2c"]}`, "mcp.excluded names c2c"},
		{Gemini, "home/.gemini/settings.json", `"hooksConfig": {"disabled": ["c2c"]}`, "hooksConfig.disabled names c2c"},
		{Gemini, "home/.gemini/mcp-server-enablement.json", `"c2c": {"enabled": false}`, "gemini mcp enable c2c"},
		{Gemini, "home/.gemini/mcp-server-enablement.json", `"c2c": {"enabled": true}, "other": {"enabled": false}`, ""},
		{OpenCode, "home/.config/opencode/opencode.json", "", ""},
		{OpenCode, "home/.config/opencode/opencode.json", `"enabled": false`, "enabled is false"},
	} {
		b := newBox(t)
		b.install(tc.client)
		tc.more = strings.ReplaceAll(tc.more, "$BOX", b.dir)
		switch text, err := os.ReadFile(filepath.Join(b.dir, tc.file)); {
		case err != nil:
			b.write(tc.file, "{"+tc.more+"}", 0o600)
		case tc.client == OpenCode && tc.more != "":
			b.write(tc.file, strings.Replace(string(text), `"enabled": true`, tc.more, 1), 0o600)
		case tc.more != "":
			b.write(tc.file, strings.Replace(string(text), "{", "{"+tc.more+",", 1), 0o600)
		}
		got := ""
		for _, f := range problemsOf(t, b, tc.client) {
			if !strings.Contains(f.Detail, "not yet approved") {
				got += f.Detail
			}
		}
		if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s with %s: %q, want %q", tc.client, tc.more, got, tc.want)
		}
	}
}
