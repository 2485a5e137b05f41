package ringer

import (
	"context"
	"errors"
	"os"
	"testing"

	"c2c/broker"
	"c2c/sessions/callers"
	"c2c/wake"
)

func TestAnOpenSessionOfThisProjectHasAMailboxBeforeItCalls(t *testing.T) {
	r, b, _, _ := typing(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]int{}
	c := wake.Client{Name: "codex", Dir: func(_ context.Context, _, id string) (string, bool, error) {
		asked[id]++
		switch id {
		case "own":
			return here, true, nil
		case "subagent":
			return here, false, nil
		case "elsewhere":
			return t.TempDir(), true, nil
		}
		return "", false, errors.New("nobody knows it")
	}}
	met := map[string]bool{}
	for range 2 {
		r.registerOpenSessions(t.Context(), b, c, os.Getpid(), map[string]bool{"own": true, "subagent": true, "elsewhere": true, "unknown": true}, met)
	}
	wantMet(t, b, "own")
	for id, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked about %d times", id, n)
		}
	}
	r.registerOpenSessions(t.Context(), b, c, os.Getpid(), map[string]bool{"alone": true}, met) // the process has no other
	wantMet(t, b, "own", "alone")
}

func TestASessionThatAnotherProcessOpensIsItsOwn(t *testing.T) {
	r, b, _, _ := typing(t)
	if _, err := b.Attach(t.Context(), callers.Caller{Client: "codex", ClientID: "thread", PID: os.Getppid()}); err != nil {
		t.Fatal(err)
	}
	r.registerOpenSessions(t.Context(), b, wake.Client{Name: "codex", Dir: func(context.Context, string, string) (string, bool, error) {
		t.Error("it is known where it works")
		return "", false, nil
	}}, os.Getpid(), map[string]bool{"thread": true}, map[string]bool{})
	wantMet(t, b, "thread")
}

// wantMet wants these sessions of Codex, all of this process.
func wantMet(t *testing.T, b *broker.Broker, ids ...string) {
	t.Helper()
	all, err := b.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range all {
		if s.Client == "codex" {
			found = append(found, s.ClientID())
			if s.PID != os.Getpid() {
				t.Errorf("%s is of process %d", s.ClientID(), s.PID)
			}
		}
	}
	if len(found) != len(ids) {
		t.Errorf("sessions %q, want %q", found, ids)
	}
}
