package broker_test

import (
	"errors"
	"path/filepath"
	"testing"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// An editor that is an MCP client has terminals for its person.
func TestAPersonBelowAnEditorMayNameTheirMailbox(t *testing.T) {
	w := newWorld(t)
	w.attach(callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}})
	editor := w.attach(callers.Caller{Client: "editor", PID: w.pid(90)})
	shell, typing := &callers.User{UID: 7, Terminal: true}, &callers.User{UID: 7, Terminal: true, Typing: true}
	w.wantResolve(editor.ID, callers.Caller{User: typing})
	w.wantResolve("person-7", callers.Caller{User: typing, Explicit: "pat"})
	refused := func(u *callers.User) {
		t.Helper()
		if s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{User: u, Explicit: "pat"}); err == nil {
			t.Errorf("%+v is %q", u, s.ID)
		}
	}
	refused(shell)
	refused(&callers.User{UID: 8, Terminal: true, Typing: true})
	w.starts(90)
	w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(90)})
	refused(typing)
}

// rebooted is the same machine after a reboot.
type rebooted struct{ sessions.ProcessTable }

func (rebooted) Namespace() string { return "pid:[1] second-boot" }

// A background job that has lost its parents is nobody's child, too.
func TestAPersonsMailboxIsGivenAtATerminalOfOurNamespace(t *testing.T) {
	w := newTableWorld(t)
	job, shell := &callers.User{UID: 7, Login: "pat"}, &callers.User{UID: 7, Login: "pat", Terminal: true}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{User: job})
	if _, err := w.Attach(t.Context(), callers.Caller{User: job}); err == nil || !errors.Is(err, sessions.ErrNoCaller) {
		t.Errorf("it is somebody: %v", err)
	}
	if s := w.attach(callers.Caller{User: shell}); s.ID != "person-7" || s.Alias != "pat" {
		t.Errorf("attached as %+v", s)
	}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{User: job})
	w.wantResolve("person-7", callers.Caller{User: job, Explicit: "pat"}) // the person's own script
	if _, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{User: shell, Getenv: env("C2C_MCP_SESSION_ID", "person-7")}); err == nil {
		t.Error("given by the environment")
	}
	w.Processes = rebooted{w.table}
	w.wantResolve("person-7", callers.Caller{User: shell})
	w.Processes = elsewhere{w.table}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{User: shell})
	w.wantResolve("person-7", callers.Caller{User: shell, Explicit: "person-7"})
}

// An agent goes to the folder of another project, or makes one, and takes its variables out of the
// environment.
func TestAnAgentOfAnotherProjectIsNoPerson(t *testing.T) {
	for client, why := range map[string]string{"claude": "this is the shell of amber", "codex": "this is the shell of an agent", "editor": "this is the shell of an agent"} {
		w := newTableWorld(t)
		home := t.TempDir()
		shell := callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}, Getenv: env("HOME", home)}
		root := filepath.Join(home, ".c2c", "repos", "0123456789ab", "broker")
		other, err := sessions.Open(sessions.Config{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		other.Processes = w.Processes
		if _, _, err = callers.Arrive(t.Context(), other, callers.Caller{Client: client, ClientID: "c-1", PID: w.pid(90)}, "amber"); err != nil {
			t.Fatal(err)
		}
		_, err = w.Attach(t.Context(), shell)
		if no := new(sessions.NoPersonError); !errors.As(err, &no) || no.Why != why {
			t.Errorf("%s: %v", client, err)
		}
		shell.Explicit = "pat"
		w.starts(90) // an earlier process had the number
		if s, err := w.Attach(t.Context(), callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}, Getenv: shell.Getenv}); err != nil || s.KnownBy != mail.ByPerson {
			t.Errorf("%s: %+v, %v", client, s, err)
		}
		w.wantKnown(mail.ByClaim, shell)
	}
}

// An agent's sandbox may have a terminal and a PID namespace of its own: it shows no client. The
// first command in it must not become the person. Otherwise the person could not use the mailbox in
// their own terminal.
func TestASandboxOfALiveAgentIsNotThePersonsFirstTerminal(t *testing.T) {
	w := newTableWorld(t)
	amber := w.register("amber", callers.Caller{Client: "mcp", PID: 10})
	shell := callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}}
	leave, err := w.Locks.Serve(amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	here := w.Processes
	w.Processes = elsewhere{w.table}
	if s, err := w.Attach(t.Context(), shell); !errors.Is(err, sessions.ErrNoCaller) {
		t.Errorf("in the sandbox %s, %v", s.ID, err)
	}
	w.Processes = here
	if s := w.attach(shell); s.ID != "person-7" || s.KnownBy != mail.ByPerson {
		t.Errorf("in the own terminal %+v", s)
	}
	leave()
}

// An agent in a container does not keep the person of the machine out.
func TestAPersonMayBeginBesideAContainer(t *testing.T) {
	w := newTableWorld(t)
	w.Processes = elsewhere{w.table}
	amber := w.register("amber", callers.Caller{Client: "mcp", PID: 10})
	leave, err := w.Locks.Serve(amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	w.Processes = first{w.table}
	if s := w.attach(callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}}); s.ID != "person-7" || s.KnownBy != mail.ByPerson {
		t.Errorf("%+v", s)
	}
}

// first is the processes of a machine, seen from its first PID namespace.
type first struct{ table }

func (first) Namespace() string { return sessions.FirstNamespace + " boot machine" }

func TestAPersonMayBeginInAContainer(t *testing.T) {
	w := newTableWorld(t)
	w.register("amber", callers.Caller{Client: "mcp", PID: 10}) // nothing shows that it lives
	w.Processes = elsewhere{w.table}
	if s := w.attach(callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}}); s.ID != "person-7" {
		t.Errorf("%+v", s)
	}
}
