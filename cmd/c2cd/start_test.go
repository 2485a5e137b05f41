package main

import (
	"strings"
	"testing"
)

// The permission belongs to a session, and start does not know which one it will be.
func TestStartDoesNotAllowWhatItCannotBind(t *testing.T) {
	k := newKeeper(t)
	for _, client := range []string{"claude", "codex"} {
		if out, err := k.try("start", "--unattended", client); err == nil || !strings.Contains(out, "c2c register --unattended") {
			t.Errorf("%s: %v: %s", client, err, out)
		}
	}
}

func TestMailIsTypedOnlyWhereItCanBe(t *testing.T) {
	k := newKeeper(t)
	k.run("install", "kimi")
	for want, args := range map[string][]string{
		"name its session with --alias":        {"claude"},
		"mail cannot be typed into codex":      {"--alias", "amber", "codex"},
		"mail cannot be typed into some-shell": {"--alias", "amber", "some-shell", "--"},
		"c2c is set up in kimi":                {"--alias", "amber", "kimi"},
	} {
		if out, err := k.try(append([]string{"start", "--full-delivery"}, args...)...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}
