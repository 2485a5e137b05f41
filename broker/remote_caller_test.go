package broker

import (
	"errors"
	"testing"
)

func TestARemoteCallerIsKnownByWhatItSaysThenByItsConnectionThenByItsProcess(t *testing.T) {
	w := newWorld(t)
	byProcess := w.attach(Caller{Client: "claude", ClientID: "a", PID: 10})
	last := w.attach(Caller{Client: "claude", ClientID: "b", PID: 20})
	said := w.attach(Caller{Client: "codex", ClientID: "t1", PID: 30})
	hostile := env("C2C_MCP_SESSION_ID", last.ID, "CLAUDE_CODE_SESSION_ID", "b")
	w.wantResolve(said.ID, Caller{Remote: true, Client: "codex", ClientID: "t1", PID: 30, Last: last.ID})
	w.wantResolve(last.ID, Caller{Remote: true, Client: "claude", PID: 10, Last: last.ID})
	w.wantResolve(byProcess.ID, Caller{Remote: true, Client: "claude", PID: 10, Last: "gone", Getenv: hostile})
	w.wantNobody(ErrNoSession, Caller{Remote: true, Client: "codex", ClientID: "t2", PID: 30, Last: said.ID})
	w.wantNobody(ErrNoSession, Caller{Remote: true, Client: "claude", PID: 4711})
	w.wantNobody(ErrNoSession, Caller{Remote: true, Client: "claude", Getenv: hostile})
}

// The program that answers over HTTP may have been started in an agent's shell.
func TestARemoteCallerIsNeverTheAncestorOfWhoAnswers(t *testing.T) {
	w := newWorld(t)
	w.procs[100] = process{pid: 100, parent: 10, start: 7} // this process
	above := w.attach(Caller{Client: "claude", ClientID: "a", PID: 10})
	w.wantResolve(above.ID, Caller{}) // the same without Remote
	w.wantNobody(ErrNoSession, Caller{Remote: true})
	if got := w.attach(Caller{Remote: true, Client: "mcp"}); got.ID == above.ID {
		t.Error("it is the session of our ancestor")
	}
}

// Two threads of one process that say nothing are two connections, not an error.
func TestARemoteCallerOfAProcessWithManySessionsGetsOneOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.attach(Caller{Client: "codex", ClientID: "t1", PID: 10})
	w.attach(Caller{Client: "codex", ClientID: "t2", PID: 10})
	w.wantNobody(ErrNoSession, Caller{Remote: true, Client: "codex", PID: 10})
	own := w.attach(Caller{Remote: true, Client: "codex", PID: 10})
	w.wantResolve(own.ID, Caller{Remote: true, Client: "codex", PID: 10, Last: own.ID})
}

// A login is looked at by who makes such a caller. What an agent's client can say never makes one.
func TestAPersonWhoHasLoggedInIsThePerson(t *testing.T) {
	w := newWorld(t)
	person := &User{UID: 1000, Login: "dana"}
	far := Caller{Remote: true, User: person}
	if s, err := w.Resolve(t.Context(), far); !errors.Is(err, ErrNoSession) {
		t.Errorf("before the person was at a terminal: %+v, %v", s, err)
	}
	at := *person
	at.Terminal = true
	want, err := w.Attach(t.Context(), Caller{User: &at})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := w.Resolve(t.Context(), far); err != nil || s.ID != want.ID || s.State != Person {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []Caller{
		{Remote: true, User: person, Client: "claude"}, {Remote: true, User: person, PID: 10}, {Remote: true, User: person, Last: want.ID},
		{Remote: true, User: person, ClientID: "x"}, {Remote: true, User: person, Claimed: "x"}, {Remote: true, User: person, Explicit: want.ID},
		{Remote: true, User: &User{UID: 1001}}, {Remote: true, Last: "nobody"},
	} {
		if s, err := w.Resolve(t.Context(), c); err == nil {
			t.Errorf("%+v is %s", c, s.ID)
		}
	}
	w.proc = elsewhere{w.procs}
	if s, err := w.Resolve(t.Context(), far); err == nil {
		t.Errorf("in another namespace: %+v", s)
	}
}
