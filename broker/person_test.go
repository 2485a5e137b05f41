package broker

import (
	"errors"
	"testing"
)

// rebooted is the same machine after a reboot.
type rebooted struct{ table }

func (rebooted) namespace() string { return "pid:[1] second-boot" }

// A background job that has lost its parents is nobody's child, too.
func TestAPersonsMailboxIsGivenAtATerminalOfOurNamespace(t *testing.T) {
	w := newWorld(t)
	job, shell := &User{UID: 7, Login: "pat"}, &User{UID: 7, Login: "pat", Terminal: true}
	w.wantNobody(ErrNoSession, Caller{User: job})
	if _, err := w.Attach(t.Context(), Caller{User: job}); err == nil || !errors.Is(err, ErrNoCaller) {
		t.Errorf("it is somebody: %v", err)
	}
	if s := w.attach(Caller{User: shell}); s.ID != "person-7" || s.Alias != "pat" {
		t.Errorf("attached as %+v", s)
	}
	w.wantNobody(ErrNoSession, Caller{User: job})
	w.wantResolve("person-7", Caller{User: job, Explicit: "pat"}) // the person's own script
	if _, err := w.Resolve(t.Context(), Caller{User: shell, Getenv: env("C2C_MCP_SESSION_ID", "person-7")}); err == nil {
		t.Error("given by the environment")
	}
	w.proc = rebooted{w.procs}
	w.wantResolve("person-7", Caller{User: shell})
	w.proc = elsewhere{w.procs}
	w.wantNobody(ErrNoSession, Caller{User: shell})
	w.wantResolve("person-7", Caller{User: shell, Explicit: "person-7"})
}

// An editor that is an MCP client has terminals for its person.
func TestAPersonBelowAnEditorMayNameTheirMailbox(t *testing.T) {
	w := newWorld(t)
	w.attach(Caller{User: &User{UID: 7, Login: "pat", Terminal: true}})
	editor := w.attach(Caller{Client: "editor", PID: 90})
	shell, typing := &User{UID: 7, Terminal: true}, &User{UID: 7, Terminal: true, Typing: true}
	w.wantResolve(editor.ID, Caller{User: typing})
	w.wantResolve("person-7", Caller{User: typing, Explicit: "pat"})
	refused := func(u *User) {
		t.Helper()
		if s, err := w.Resolve(t.Context(), Caller{User: u, Explicit: "pat"}); err == nil {
			t.Errorf("%+v is %q", u, s.ID)
		}
	}
	refused(shell)
	refused(&User{UID: 8, Terminal: true, Typing: true})
	w.procs[90] = process{pid: 90, parent: 1, start: 99}
	w.attach(Caller{Client: "claude", ClientID: "u1", PID: 90})
	refused(typing)
}
