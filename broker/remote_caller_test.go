package broker_test

import (
	"errors"
	"testing"

	"c2c/sessions"
	"c2c/sessions/callers"
)

func TestARemoteCallerIsKnownByWhatItSaysThenByItsConnectionThenByItsProcess(t *testing.T) {
	w := newWorld(t)
	byProcess := w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	last := w.attach(callers.Caller{Client: "claude", ClientID: "b", PID: w.pid(20)})
	said := w.attach(callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(30)})
	hostile := env("C2C_MCP_SESSION_ID", last.ID, "CLAUDE_CODE_SESSION_ID", "b")
	w.wantResolve(said.ID, callers.Caller{Remote: true, Client: "codex", ClientID: "t1", PID: w.pid(30), Last: last.ID})
	w.wantResolve(last.ID, callers.Caller{Remote: true, Client: "claude", PID: w.pid(10), Last: last.ID})
	w.wantResolve(byProcess.ID, callers.Caller{Remote: true, Client: "claude", PID: w.pid(10), Last: "gone", Getenv: hostile})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Remote: true, Client: "codex", ClientID: "t2", PID: w.pid(30), Last: said.ID})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Remote: true, Client: "claude", PID: w.pid(4711)})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Remote: true, Client: "claude", Getenv: hostile})
}

// Two threads of one process that say nothing are two connections, not an error.
func TestARemoteCallerOfAProcessWithManySessionsGetsOneOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.attach(callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(10)})
	w.attach(callers.Caller{Client: "codex", ClientID: "t2", PID: w.pid(10)})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Remote: true, Client: "codex", PID: w.pid(10)})
	own := w.attach(callers.Caller{Remote: true, Client: "codex", PID: w.pid(10)})
	w.wantResolve(own.ID, callers.Caller{Remote: true, Client: "codex", PID: w.pid(10), Last: own.ID})
}

// The program that answers over HTTP may have been started in an agent's shell.
func TestARemoteCallerIsNeverTheAncestorOfWhoAnswers(t *testing.T) {
	w := newTableWorld(t)
	w.table[100] = sessions.Process{PID: 100, Parent: 10, Start: 7} // this process
	above := w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	w.wantResolve(above.ID, callers.Caller{}) // the same without Remote
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Remote: true})
	if got := w.attach(callers.Caller{Remote: true, Client: "mcp"}); got.ID == above.ID {
		t.Error("it is the session of our ancestor")
	}
}

// A login is looked at by who makes such a caller. What an agent's client can say never makes one.
func TestAPersonWhoHasLoggedInIsThePerson(t *testing.T) {
	w := newTableWorld(t)
	person := &callers.User{UID: 1000, Login: "dana"}
	far := callers.Caller{Remote: true, User: person}
	if s, err := callers.Resolve(t.Context(), w.Registry, far); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("before the person was at a terminal: %+v, %v", s, err)
	}
	at := *person
	at.Terminal = true
	want, err := w.Attach(t.Context(), callers.Caller{User: &at})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := callers.Resolve(t.Context(), w.Registry, far); err != nil || s.ID != want.ID || s.State != sessions.Person {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []callers.Caller{
		{Remote: true, User: person, Client: "claude"}, {Remote: true, User: person, PID: w.pid(10)}, {Remote: true, User: person, Last: want.ID},
		{Remote: true, User: person, ClientID: "x"}, {Remote: true, User: person, Claimed: "x"}, {Remote: true, User: person, Explicit: want.ID},
		{Remote: true, User: &callers.User{UID: 1001}}, {Remote: true, Last: "nobody"},
	} {
		if s, err := callers.Resolve(t.Context(), w.Registry, c); err == nil {
			t.Errorf("%+v is %s", c, s.ID)
		}
	}
	w.Processes = elsewhere{w.table}
	if s, err := callers.Resolve(t.Context(), w.Registry, far); err == nil {
		t.Errorf("in another namespace: %+v", s)
	}
}
