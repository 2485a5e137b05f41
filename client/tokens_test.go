package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Lines as the clients write them (2026-11-29), with other numbers. What c2c does not read was cut.
var tokenLines = map[string]struct {
	file, line string // below the client's configuration; a line with its numbers
	want       Tokens
}{
	"claude": {"projects/-home-dana-shop/17a182e0-fecf-4276-8580-6d528575516b.jsonl",
		`{"isSidechain":false,"message":{"model":"m","usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":3000,"output_tokens":40}},"type":"assistant"}`,
		Tokens{Input: 3120, Output: 40}},
	"codex": {"sessions/2026/11/29/rollout-2026-11-29T04-05-42-17a182e0-fecf-4276-8580-6d528575516b.jsonl",
		`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":9000},"last_token_usage":{"input_tokens":3120,"cached_input_tokens":3000,"output_tokens":40,"total_tokens":3160},"model_context_window":258400},"rate_limits":{}}}`,
		Tokens{Input: 3120, Output: 40, Total: 9000, Window: 258_400}},
	"qwen": {"projects/-home-dana-shop/chats/17a182e0-fecf-4276-8580-6d528575516b.jsonl",
		`{"type":"assistant","message":{"role":"model","parts":[]},"usageMetadata":{"promptTokenCount":3120,"candidatesTokenCount":40,"totalTokenCount":3160,"cachedContentTokenCount":3000}}`,
		Tokens{Input: 3120, Output: 40}},
	"gemini": {"tmp/shop/chats/session-2026-11-29T04-05-17a182e0.jsonl",
		`{"type":"gemini","content":"one.","tokens":{"input":3120,"output":40,"cached":3000,"thoughts":0,"tool":0,"total":3160}}`,
		Tokens{Input: 3120, Output: 40}},
	"kimi": {"sessions/wd_shop_1/17a182e0-fecf-4276-8580-6d528575516b/agents/main/wire.jsonl",
		`{"type":"context.append_loop_event","event":{"type":"step.end","usage":{"inputOther":100,"output":40,"inputCacheRead":3000,"inputCacheCreation":20}}}`,
		Tokens{Input: 3120, Output: 40}},
}

const tokenSession = "17a182e0-fecf-4276-8580-6d528575516b"

// recorded writes a client's record, and returns the directory of its configuration.
func recorded(t *testing.T, file, text string) (config string) {
	t.Helper()
	config = t.TempDir()
	path := filepath.Join(config, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestTheTokensAreThoseOfTheLastRequest(t *testing.T) {
	for name, c := range tokenLines {
		p, _ := Find(name)
		older := strings.ReplaceAll(c.line, "3", "7")
		other := `{"type":"user","text":"\"assistant\" \"token_count\" \"gemini\" \"step.end\""}` + "\n" // a line of a person
		for what, text := range map[string]string{
			"the last line":    older + "\n" + c.line + "\n",
			"no end of a line": older + "\n" + c.line,
			"others after it":  older + "\n" + c.line + "\n" + other + "\n\n{\"cut",
			"much after it":    c.line + "\n" + strings.Repeat(other, 2000), // more than the first look reads
		} {
			if got := p.TokensOf(recorded(t, c.file, text), tokenSession); got != c.want {
				t.Errorf("%s, %s: %+v, want %+v", name, what, got, c.want)
			}
		}
		if got := p.TokensOf(recorded(t, c.file, c.line+"\n"), "27a182e0-fecf-4276-8580-6d528575516b"); got != (Tokens{}) {
			t.Errorf("%s: another session has %+v", name, got)
		}
	}
	for _, p := range All() {
		if _, tested := tokenLines[p.Name]; (p.Tokens.Input != nil) != tested {
			t.Errorf("%s: it has tokens and no line here, or the other way round", p.Name)
		}
	}
}

// A record is a file of another program.
func TestOddNumbersAreNoTokens(t *testing.T) {
	for name, c := range tokenLines {
		p, _ := Find(name)
		for _, odd := range []string{"-1", "1.5", "1e40", `"3"`, "[]", "99999999999999999"} {
			line := strings.NewReplacer("3120", odd, ":100", ":"+odd).Replace(c.line)
			if got := p.TokensOf(recorded(t, c.file, line), tokenSession); got != (Tokens{}) {
				t.Errorf("%s: %s gives %+v", name, odd, got)
			}
		}
		for what, make := range map[string]func(path string) error{
			"a directory": func(path string) error { return os.MkdirAll(path, 0o700) },
			"a hole": func(path string) error {
				return os.WriteFile(path, nil, 0o600)
			},
		} {
			config := recorded(t, c.file, "")
			path := filepath.Join(config, c.file)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			err := make(path)
			if err == nil && what == "a hole" {
				err = os.Truncate(path, 1<<40)
			}
			if got := p.TokensOf(config, tokenSession); got != (Tokens{}) || err != nil {
				t.Errorf("%s: %s gives %+v, %v", name, what, got, err)
			}
		}
	}
	claude, _ := Find("claude")
	for _, line := range []string{
		`{"isSidechain":true,"message":{"usage":{"input_tokens":100,"output_tokens":40}},"type":"assistant"}`,
		`{"message":{"model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}},"type":"assistant"}`,
	} {
		text := fmt.Sprintln(tokenLines["claude"].line) + line + "\n"
		if got := claude.TokensOf(recorded(t, tokenLines["claude"].file, text), tokenSession); got != tokenLines["claude"].want {
			t.Errorf("%s gives %+v", line, got)
		}
	}
}
