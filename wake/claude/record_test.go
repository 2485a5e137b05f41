package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

// The client has written a prompt with one of two messages behind the place where the record was
// looked at, and one before it.
func TestTheRecordSaysWhatTheClientHasTaken(t *testing.T) {
	config := t.TempDir()
	path := filepath.Join(config, "projects", "p", "s-1.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	add := func(lines ...string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prompt := func(kind, more string, msgs ...mail.Message) string {
		text := "Another Claude session sent a message:\n"
		for _, m := range msgs {
			text += m.InlineEnvelope() + "\n"
		}
		data, _ := json.Marshal(text)
		return fmt.Sprintf(`{"type":%q,"uuid":"u"%s,"message":{"role":"user","content":%s}}`, kind, more, data)
	}
	says := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(config, "sessions"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config, "sessions", "7.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says(`{"pid":7,"sessionId":"s-1"}`)
	old, one, two := letter("m-0", "birch", "before"), letter("m-1", "birch", "one \"quoted\"\nline"), letter("m-2", "birch", "two")
	if got := recordOf(config, 7).prompted([]mail.Message{one}); got != nil {
		t.Errorf("without a record: %q", got)
	}
	add(prompt("user", "", old))
	r := recordOf(config, 7)
	add(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}`, "no json", prompt("assistant", "", two), prompt("user", `,"isSidechain":true`, two), prompt("user", "", one))
	for want, msgs := range map[string][]mail.Message{"[m-1]": {one, two}, "[]": {two, one}, "[] ": {old}} {
		if got := fmt.Sprint(r.prompted(msgs)); got != strings.TrimSpace(want) {
			t.Errorf("%q, want %s", got, want)
		}
	}
	says(`{"pid":7,"sessionId":"../s-1"}`)
	if got := recordOf(config, 7).prompted([]mail.Message{one}); got != nil {
		t.Errorf("of no session: %q", got)
	}
}
