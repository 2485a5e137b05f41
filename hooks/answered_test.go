package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
)

func parsed(t *testing.T, client, event string) Event {
	t.Helper()
	e, err := Parse(client, strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Of tools that ran beside each other one may end behind mail that the end of another has brought:
// the model had answered before.
func TestAToolTellsOfTheAnswerThatCalledIt(t *testing.T) {
	now := time.Unix(1000, 0)
	for event, want := range map[string]time.Time{
		`{"hook_event_name":"PostToolUse"}`:                               now,
		`{"hook_event_name":"PostToolUse","duration_ms":1500}`:            now.Add(-1500 * time.Millisecond),
		`{"hook_event_name":"PostToolUse","duration_ms":"x"}`:             now,
		`{"hook_event_name":"PostToolUse","duration_ms":-1e300}`:          now,
		`{"hook_event_name":"Stop"}`:                                      now,
		`{"hook_event_name":"Stop","stop_hook_active":true}`:              now,
		`{"hook_event_name":"Stop","agent_id":"a1"}`:                      {},
		`{"hook_event_name":"PostToolUse","agent_id":"a1"}`:               {},
		`{"hook_event_name":"UserPromptSubmit","prompt":"go on"}`:         {},
		`{"hook_event_name":"StopFailure","error":"server_error"}`:        {},
		`{"hook_event_name":"Notification","notification_type":"x y z."}`: {},
	} {
		for _, client := range []string{"claude", "codex", "qwen"} {
			e := parsed(t, client, event)
			if at := e.Answered("", now); !at.Equal(want) || !at.IsZero() && !e.MayAnswer() {
				t.Errorf("%s: %s: answered at %v, want %v", client, event, at, want)
			}
		}
	}
}

func TestAFailureSaysWhy(t *testing.T) {
	for event, want := range map[string]string{
		`{"hook_event_name":"StopFailure","error":"server_error"}`:                               "server_error",
		`{"hook_event_name":"StopFailure","error":"invalid_request","error_details":"400 no"}`:   "invalid_request: 400 no",
		`{"hook_event_name":"StopFailure","error_type":"APIError","error_message":"overloaded"}`: "APIError: overloaded",
		`{"hook_event_name":"StopFailure","error":{"code":5}}`:                                   "unknown",
		`{"hook_event_name":"StopFailure","error":"x","agent_id":"a1"}`:                          "",
		`{"hook_event_name":"Stop","error":"x"}`:                                                 "",
	} {
		if got := parsed(t, "claude", event).Failure(); got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

// What a client rolls back was no answer to what it still has.
func TestAnAnswerIsInTheRecord(t *testing.T) {
	at := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	answer := `{"id":"a","type":"gemini","timestamp":"2026-11-23T08:00:00Z","content":"x"}` + "\n"
	log := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]time.Time{
		"":     {},
		answer: at,
		answer + `{"$set":{"messages":[]}}` + "\n": {},
	} {
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := event("gemini", "AfterAgent")
		e.Transcript = log
		if got := e.Answered("", at.Add(time.Hour)); !got.Equal(want) {
			t.Errorf("%q: answered at %v, want %v", text, got, want)
		}
	}
	lines := `{"type":"assistant","timestamp":"2026-11-23T07:00:00Z"}` + "\n" + `{"type":"assistant","timestamp":"2026-11-23T08:00:00Z"}` + "\n" + `{"type":"user","text":"assistant","timestamp":"2026-11-23T09:00:00Z"}`
	if got := qwenAnswered([]byte(lines)); !got.Equal(at) {
		t.Errorf("Qwen answered at %v", got)
	}
}

// A client that takes a turn back leaves the rest of the conversation.
func TestWhatALogHasNoMoreIsDropped(t *testing.T) {
	line := func(text string) string {
		quoted, _ := json.Marshal(text)
		return `{"type":"user","content":[{"text":` + strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted)) + `}]}` + "\n"
	}
	first := line(strings.ReplaceAll(msg("m1", "one").Envelope(), "<", "&lt;")) // by a hook
	second := line(msg("m2", `as in id="m1" or c2c event="message" from="birch" id="m1"`).Envelope())
	log := filepath.Join(t.TempDir(), "log")
	for name, tc := range map[string]struct {
		log    string
		m1, m2 bool
	}{
		"nothing":                {"", false, false},
		"a conversation":         {first + second, false, false},
		"one that is resumed":    {`{"$set":{"messages":[]}}` + "\n" + first + second, false, false},
		"the second is taken":    {first + second + `{"$set":{"messages":[` + strings.TrimSpace(first) + `]}}` + "\n", false, true},
		"both are":               {first + second + `{"$set":{"messages":[]}}` + "\n", true, true},
		"and one is back":        {first + second + `{"$set":{"messages":[]}}` + "\n" + second, true, false},
		"a long conversation":    {first + second + `{"$set":{"messages":[` + strings.TrimSpace(line(strings.Repeat("x", 3<<20))) + `]}}` + "\n", true, true},
		"it says something else": {first + `{"$set":{"summary":"x"}}` + "\n", false, false},
	} {
		if err := os.WriteFile(log, []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		e := event("gemini", "BeforeAgent")
		e.Transcript = log
		dropped := e.Dropped(time.Time{})
		for _, is := range []struct {
			m    mail.Message
			want bool
		}{{msg("m1", "one"), tc.m1}, {msg("m2", "two"), tc.m2}} {
			if got := dropped.Has(is.m); got != is.want {
				t.Errorf("%s: %s is dropped: %v", name, is.m.ID, got)
			}
		}
	}
	if event("gemini", "AfterAgent").MayTellDropped() {
		t.Error("the end of a turn brings what was dropped, and begins the turn that failed again")
	}
	if event("claude", "Stop").MayTellDropped() {
		t.Error("Claude Code takes a prompt back that it has answered")
	}
}

// A prompt that was taken back has nothing behind it but what belongs to it.
func TestAPromptThatWasTakenBackIsDropped(t *testing.T) {
	m := msg("m1", "one")
	quoted, _ := json.Marshal(m.Envelope() + "\n<c2c event=\"rooms\" from=\"others\" authority=\"none\">\nhello\n</c2c>")
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(quoted))
	escaped := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text)
	claude := `{"type":"user","uuid":"p","parentUuid":"a","message":{"content":"do it"}}
{"type":"attachment","uuid":"h","parentUuid":"p","timestamp":"2026-11-28T08:00:00Z","attachment":{"hookEvent":"UserPromptSubmit","content":[` + text + `]}}
{"type":"api-request-blob","content":` + text + `}
`
	qwen := `{"type":"user","uuid":"p","parentUuid":"a","timestamp":"2026-11-28T08:00:00Z","message":{"parts":[{"text":` + escaped + `}]}}
{"type":"system","subtype":"file_history_snapshot","uuid":"s","parentUuid":"p"}
`
	for name, tc := range map[string]struct {
		client, log string
		want        bool
	}{
		"Claude Code, taken back":        {"claude", claude, true},
		"Claude Code, and another one":   {"claude", claude + `{"type":"user","uuid":"q","parentUuid":"a"}`, true},
		"Claude Code, answered":          {"claude", claude + `{"type":"assistant","uuid":"q","parentUuid":"h"}`, false},
		"Claude Code, interrupted":       {"claude", claude + `{"type":"user","uuid":"q","parentUuid":"h"}`, false},
		"Claude Code, after a tool call": {"claude", strings.Replace(claude, "UserPromptSubmit", "PostToolUse", 1), false},
		"Qwen Code, taken back":          {"qwen", qwen, true},
		"Qwen Code, and another one":     {"qwen", qwen + `{"type":"user","uuid":"q","parentUuid":"s"}`, true},
		"Qwen Code, answered":            {"qwen", qwen + `{"type":"assistant","uuid":"q","parentUuid":"s"}`, false},
		"Qwen Code, failed":              {"qwen", qwen + `{"type":"system","subtype":"ui_telemetry","uuid":"q","parentUuid":"s"}`, false},
	} {
		e := event(tc.client, "UserPromptSubmit")
		e.Prompt, e.Transcript = "next", filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(e.Transcript, []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := e.Dropped(time.Time{}); !e.MayTellDropped() || d.Has(m) != tc.want || strings.Contains(d.Digests(), "hello") != tc.want {
			t.Errorf("%s: %v, %q", name, d.Has(m), d.Digests())
		}
		turn := event(tc.client, "PostToolUse")
		turn.Transcript = e.Transcript
		if d := turn.Dropped(time.Time{}); d.Has(m) != (tc.want && strings.HasSuffix(name, "and another one")) {
			t.Errorf("%s, in a turn: %v", name, d.Has(m))
		}
		if d := e.Dropped(time.Date(2026, 11, 28, 8, 0, 1, 0, time.UTC)); d.Has(m) || d.Digests() != "" {
			t.Errorf("%s, and its model has answered since", name)
		}
	}
}
