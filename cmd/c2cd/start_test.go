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
