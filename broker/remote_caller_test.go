package broker

import "testing"

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
