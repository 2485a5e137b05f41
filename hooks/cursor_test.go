package hooks

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the answers in testdata anew")

// What Cursor is told has no word of a peer's but an alias, because it takes a follow-up for its
// person's words. Nothing follows a turn that the person has stopped, or a follow-up, and a
// subagent, whose conversation is another one, is told nothing.
func TestCursorIsToldInItsOwnConversation(t *testing.T) {
	events, err := filepath.Glob("testdata/cursor/*.in")
	if err != nil || len(events) == 0 {
		t.Fatal(events, err)
	}
	for _, path := range events {
		in, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Parse("cursor", bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		e.Within("668320d2-2fd8-4888-b33c-2a466fec86e7")
		got := render(t, e, msg("m-1", "precious")).Output
		answer := strings.TrimSuffix(path, ".in") + ".out"
		if *update {
			if err := os.WriteFile(answer, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(answer); err != nil || !bytes.Equal(got, want) || bytes.Contains(got, []byte("precious")) {
			t.Errorf("%s: answered %s, want %s, %v", path, got, want, err)
		}
		// Cursor runs Claude Code's hooks, too.
		in = bytes.Replace(in, []byte(`"stop"`), []byte(`"Stop"`), 1)
		if e, err = Parse("claude", bytes.NewReader(bytes.Replace(in, []byte(`"postToolUse"`), []byte(`"PostToolUse"`), 1))); err != nil {
			t.Fatal(err)
		}
		if e.ShowsMail() || e.Watches() || e.Changed() || e.Does() != "" {
			t.Errorf("%s: Claude Code's hook answers it", path)
		}
	}
}
