package hooks

import (
	"strings"
	"testing"
)

func TestAClientWithOnePromptIsToldFromOthers(t *testing.T) {
	for line, want := range map[string]bool{
		"claude": false, "claude -p hello": true, "node cli.js --print": true,
		"claude -p --input-format stream-json": false, "claude -p --input-format=stream-json": false,
		"claude -- -p": false,
	} {
		if got := oneShot(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	for client, want := range map[string]bool{"claude": true, "codex": false, "gem": false} {
		if got := ends(client, []string{client, "-p", "work"}); got != want { // codex -p names a profile
			t.Errorf("%s -p: %v", client, got)
		}
	}
}
