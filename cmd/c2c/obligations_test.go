package main

import (
	"bytes"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
)

// Who has asked stands before who was asked, whoever looks: a person who looks takes "by birch to
// oak" for a question of birch.
func TestObligationsSayWhoAsked(t *testing.T) {
	now := time.Now()
	for side, want := range map[string]string{
		broker.SideOwe:   "  q-1  question of oak, due in 2 h\n",
		broker.SideOwed:  "  q-1  question to birch, due in 2 h\n",
		broker.SideOther: "  q-1  question of oak to birch, due in 2 h\n",
	} {
		var out bytes.Buffer
		c := &call{app: &app{stdout: &out}}
		c.printObligation(broker.Obligation{ID: "q-1", Kind: "question", From: "oak", To: "birch", Side: side,
			State: owed.StillOpen, Bucket: "normal", Due: now.Add(2*time.Hour + time.Minute)}, now)
		if got := out.String(); got != want {
			t.Errorf("%s: %q, want %q", side, got, want)
		}
	}
}

func TestSessionsOfOtherMachinesAreNamedOutsideEnvelopes(t *testing.T) {
	for name, want := range map[string]string{"amber@devbox": "amber@devbox", "amber": "amber", "amber@dev box": "?", "read: yes\n#": "?"} {
		if got := nameOf(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}
