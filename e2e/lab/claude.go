package lab

import (
	"encoding/json"
	"strings"
)

// claudeKey is not a real key. Claude Code asks about a key that it does not know, and stores its
// last 20 characters.
const claudeKey = "sk-ant-api03-lab-0000000000000000000000000000000000000000"

// SeedClaude writes the answers to the questions of Claude Code's first start: onboarding, key,
// trust, project MCP servers. It allows the tools that tests call, and adds the given settings to
// ~/.claude/settings.json.
func (l *Lab) SeedClaude(settings map[string]any) {
	l.t.Helper()
	l.Write(".claude.json", mustJSON(map[string]any{
		"hasCompletedOnboarding": true,
		"theme":                  "dark",
		"customApiKeyResponses":  map[string]any{"approved": []string{claudeKey[len(claudeKey)-20:]}},
		"projects": map[string]any{
			l.Project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true},
		},
	}))
	all := map[string]any{
		"enableAllProjectMcpServers": true,
		"permissions":                map[string]any{"allow": []string{"Bash", "mcp__probe"}},
	}
	for k, v := range settings {
		all[k] = v
	}
	l.Write(".claude/settings.json", mustJSON(all))
}

// ClaudeEnv returns the environment in which Claude Code uses model.
func (l *Lab) ClaudeEnv(model *Model) []string {
	return l.Env(
		"ANTHROPIC_BASE_URL="+model.URL,
		"ANTHROPIC_API_KEY="+claudeKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	)
}

// Claude starts `claude` with pipes, as a script would. args should have -p and a prompt, or select
// the stream-json formats.
func (l *Lab) Claude(model *Model, args ...string) *Proc {
	l.t.Helper()
	return l.run(Claude, l.ClaudeEnv(model), args...)
}

// ClaudeTUI starts Claude Code on a terminal and returns when the prompt is there.
func (l *Lab) ClaudeTUI(model *Model, args ...string) *Proc {
	l.t.Helper()
	// Claude Code draws one of these when its first screen is complete.
	return l.tui(Claude, l.ClaudeEnv(model), []string{"shift+tab to cycle", "? for shortcuts"}, args...)
}

// ClaudeHook returns a command hook in the form of ~/.claude/settings.json.
func ClaudeHook(command string) []any {
	return []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}
}

// ClaudeSession returns the session id in a request of Claude Code, or "".
func (r *Request) ClaudeSession() string {
	var body struct {
		Metadata struct {
			UserID string `json:"user_id"`
		}
	}
	json.Unmarshal(r.Body, &body)
	var user struct {
		SessionID string `json:"session_id"`
	}
	if json.Unmarshal([]byte(body.Metadata.UserID), &user) == nil {
		return user.SessionID
	}
	_, id, _ := strings.Cut(body.Metadata.UserID, "session_")
	return id
}

// ClaudeChannel starts Claude Code as a channel through c2c, accepts its warning, and returns when
// the prompt is there.
func (l *Lab) ClaudeChannel(model *Model, c2c string, args ...string) *Proc {
	l.t.Helper()
	env := append(l.ClaudeEnv(model), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=", "CLAUDE_CODE_HARBOR_KITE=0")
	p := l.Terminal(env, append([]string{c2c, "start", "--channel", "claude"}, args...)...)
	p.WaitScreen(0, "local development")
	p.Send(Enter)
	p.WaitScreen(0, "shift+tab to cycle", "? for shortcuts")
	return p
}

// AllowChannels sets the feature flag of channels, and those in more, among the cached flags in the
// file that SeedClaude has written.
func (l *Lab) AllowChannels(more ...string) {
	l.t.Helper()
	var config map[string]any
	if err := json.Unmarshal([]byte(l.Read(".claude.json")), &config); err != nil {
		l.t.Fatal(err)
	}
	flags := map[string]any{}
	for _, name := range append(more, "tengu_harbor") {
		flags[name] = true
	}
	config["cachedGrowthBookFeatures"] = flags
	l.Write(".claude.json", mustJSON(config))
}

// PermissionFlag makes Claude Code send permission dialogs to its channels, and accept their
// verdicts.
const PermissionFlag = "tengu_harbor_permissions"
