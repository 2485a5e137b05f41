package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, client, event string) Event {
	t.Helper()
	e, err := Parse(client, strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Of tools that ran beside each other one may end behind mail that the end of another has brought: the model had answered before.
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
	const first, second = `{"type":"user","content":[{"text":"&lt;c2c event=\"message\" id=\"m1\"&gt;"}]}` + "\n", `{"type":"user","content":[{"text":"&lt;c2c event=\"message\" id=\"m2\"&gt;"}]}` + "\n"
	log := filepath.Join(t.TempDir(), "log")
	for _, tc := range []struct {
		log    string
		m1, m2 bool
	}{
		{"", false, false},
		{first + second, false, false},
		{`{"$set":{"messages":[]}}` + "\n" + first + second, false, false},
		{first + second + `{"$set":{"messages":[` + strings.TrimSpace(first) + `]}}` + "\n", false, true},
		{first + second + `{"$set":{"messages":[]}}` + "\n", true, true},
		{first + second + `{"$set":{"messages":[]}}` + "\n" + second, true, false},
	} {
		if err := os.WriteFile(log, []byte(tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		e := event("gemini", "AfterAgent")
		e.Transcript = log
		dropped := e.Dropped()
		for id, want := range map[string]bool{"m1": tc.m1, "m2": tc.m2} {
			if got := dropped != nil && dropped(msg(id, "x")); got != want {
				t.Errorf("%s: %s is dropped: %v", tc.log, id, got)
			}
		}
	}
	if event("claude", "Stop").Dropped() != nil {
		t.Error("Claude Code drops mail")
	}
}
