package client

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
		if got := claude().isOneShot(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
