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

// What Cursor takes for its person's words has no word of a peer's but an alias, and nothing follows a turn that the
// person has stopped, or a follow-up.
func TestCursorIsToldAtTheEndOfATurn(t *testing.T) {
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
		if _, told := e.Turn(); e.ShowsMail() || e.Watches() || e.Changed() || told {
			t.Errorf("%s: Claude Code's hook answers it", path)
		}
	}
}
