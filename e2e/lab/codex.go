package lab

import (
	"encoding/json"
	"fmt"
)

// SeedCodex writes ~/.codex/config.toml: model as the provider, the project trusted, no approvals,
// no sandbox (which needs kernel features that a namespace may lack), and then the given TOML.
func (l *Lab) SeedCodex(model *Model, more string) {
	l.t.Helper()
	l.Write(".codex/config.toml", fmt.Sprintf(`model = "gpt-5.2-codex"
model_provider = "lab"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "%s/v1"
env_key = "LAB_KEY"
wire_api = "responses"

[projects."%s"]
trust_level = "trusted"

[analytics]
enabled = false

%s`, model.URL, l.Project, more))
}

// CodexEnv returns the environment of Codex; its configuration file names the model.
func (l *Lab) CodexEnv() []string { return l.Env("LAB_KEY=lab-key") }

// Codex starts a command of Codex with pipes.
func (l *Lab) Codex(args ...string) *Proc {
	l.t.Helper()
	return l.run(Codex, l.CodexEnv(), args...)
}

// CodexExec starts `codex exec` with pipes; it answers one prompt and ends.
func (l *Lab) CodexExec(args ...string) *Proc {
	l.t.Helper()
	p := l.Codex(append([]string{"exec"}, args...)...)
	p.CloseInput() // otherwise Codex waits for more of the prompt on its input
	return p
}

// CodexTUI starts Codex on a terminal and returns when the prompt is there. Without options Codex
// becomes a client of the daemon that it starts; with -c, --no-daemon and some others it runs
// without the daemon.
func (l *Lab) CodexTUI(args ...string) *Proc {
	l.t.Helper()
	return l.tui(Codex, l.CodexEnv(), []string{"›"}, args...)
}

// TrustCodexHooks does the same as "Trust all and continue" in the review of hooks: it asks Codex
// for its hooks and their hashes, and stores the hashes as trusted. It returns the number of hooks.
func (l *Lab) TrustCodexHooks() int {
	l.t.Helper()
	p := l.Codex("app-server")
	defer p.Kill()
	p.call(1, "initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "lab", "title": "lab", "version": "0"},
		"capabilities": map[string]any{"experimentalApi": true, "requestAttestation": false}})
	p.Send(`{"method":"initialized"}` + "\n")
	var listed struct {
		Data []struct {
			Hooks []struct{ Key, CurrentHash, TrustStatus string }
		}
	}
	l.decode(p.call(2, "hooks/list", map[string]any{"cwds": []string{l.Project}}), &listed)
	state := map[string]any{}
	for _, d := range listed.Data {
		for _, h := range d.Hooks {
			state[h.Key] = map[string]any{"trusted_hash": h.CurrentHash}
		}
	}
	p.call(3, "config/batchWrite", map[string]any{
		"edits": []any{map[string]any{"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}}})
	return len(state)
}

// call makes one JSON-RPC call over the client's pipes and returns its result.
func (p *Proc) call(id int, method string, params any) json.RawMessage {
	p.t.Helper()
	line, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		p.t.Fatal(err)
	}
	mark := p.Out.Mark()
	p.Send(string(line) + "\n")
	answer := p.WaitLine(mark, fmt.Sprintf(`"id":%d`, id))
	var message struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(answer), &message); err != nil || message.Error != nil {
		p.t.Fatalf("%s: %v %s", method, err, answer)
	}
	return message.Result
}

func (l *Lab) decode(raw json.RawMessage, v any) {
	l.t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		l.t.Fatalf("%v in %s", err, raw)
	}
}

// CodexHooks writes ~/.codex/hooks.json with one command for each event.
func (l *Lab) CodexHooks(commands map[string]string) {
	l.t.Helper()
	events := map[string]any{}
	for event, command := range commands {
		events[event] = ClaudeHook(command) // the same form
	}
	l.Write(".codex/hooks.json", mustJSON(map[string]any{"hooks": events}))
}

// CodexThread returns the thread to which a request of Codex belongs, or "".
func (r *Request) CodexThread() string {
	return r.Header.Get("session-id")
}
