package ringer

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// shown is a client that shows names.
type shown struct {
	place string
	names []string
}

func (s *shown) Show(place string, names []string) error {
	s.place, s.names = place, names
	return nil
}

func (s *shown) Close() error { return nil }

func TestAClientShowsWhoIsThereAndNotItself(t *testing.T) {
	r, b, _, _ := typing(t) // amber is this process
	for _, c := range []callers.Caller{{Explicit: "birch"}, {Explicit: "gone", PID: os.Getppid()}} {
		if _, err := b.Register(t.Context(), c, c.Explicit); err != nil {
			t.Fatal(err)
		}
	}
	client := &shown{}
	r.Scope.process = os.Getpid()
	r.Scope.client.Peers = func(func(string) string, func(context.Context, wake.Sent) error) wake.Peers { return client }
	r.names(b).show(t.Context())
	if client.place != b.Root() || !slices.Equal(client.names, []string{"birch", "gone"}) {
		t.Errorf("it shows %+v", client)
	}
}

func TestWhatAProcessSendsIsFromItsOwnSession(t *testing.T) {
	_, b, amber, _ := typing(t)
	if _, err := b.Register(t.Context(), callers.Caller{Explicit: "birch"}, "birch"); err != nil {
		t.Fatal(err)
	}
	m := wake.Sent{Process: os.Getpid(), To: "birch", ID: "m-1", Text: "hello"}
	if err := store(t.Context(), b, amber.Client, m); err != nil {
		t.Error(err)
	}
	other := m
	other.Process = os.Getppid()
	if err := store(t.Context(), b, amber.Client, other); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("a process without a session: %v", err)
	}
	if _, err := b.Attach(t.Context(), callers.Caller{Client: amber.Client, ClientID: "c-1", PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	other.Session = "c-1"
	if err := store(t.Context(), b, amber.Client, other); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("a process that names another's session: %v", err)
	}
	if err := store(t.Context(), b, "codex", m); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("another client's process: %v", err)
	}
	m.To = "nobody"
	var unknown *sessions.UnknownAliasError
	if err := store(t.Context(), b, amber.Client, m); !errors.As(err, &unknown) {
		t.Errorf("an unknown name: %v", err)
	}
	box, err := b.Mailbox("birch")
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := box.Peek(t.Context())
	if err != nil || len(msgs) != 1 || msgs[0].From != "amber" || msgs[0].Content != "hello" {
		t.Errorf("birch has %+v, %v", msgs, err)
	}
}
