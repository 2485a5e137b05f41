package broker

import (
	"strings"
	"testing"

	"c2c/sessions"
)

// A mailbox of a script has no client, and no name of one to tell.
func TestTheRemedyForAMailboxWithoutAClientIsACommand(t *testing.T) {
	if got := notRung(nil, sessions.Session{Alias: "nova"}, true); !strings.Contains(got, "c2c poll-inbox --session-id nova") {
		t.Errorf("doctor says %q", got)
	}
}
