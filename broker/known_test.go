package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// shells is a table in which processes were started with variables.
type shells struct {
	table
	had map[int]string
}

func (s shells) Environ(pid int) []string { return strings.Fields(s.had[pid]) }

func (w *world) wantKnown(want string, c callers.Caller) {
	w.t.Helper()
	s, err := callers.Resolve(context.Background(), w.Registry, c)
	if err != nil || s.KnownBy != want {
		w.t.Errorf("%+v is %s, known by %q, %v; want %q", c, s.Alias, s.KnownBy, err, want)
	}
}

func TestASenderIsKnownByItsProcessOrOnlyClaims(t *testing.T) {
	w := newTableWorld(t)
	birch := w.register("birch", callers.Caller{Client: "claude", ClientID: "b", PID: 10})
	amber := w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 90})
	w.wantKnown(mail.ByProcess, callers.Caller{}) // below 90
	w.wantKnown(mail.ByProcess, callers.Caller{Explicit: "amber"})
	w.wantKnown(mail.ByProcess, callers.Caller{Getenv: env("C2C_MCP_SESSION_ID", amber.ID)})
	w.wantKnown(mail.ByClaim, callers.Caller{Explicit: "birch"})
	w.wantKnown(mail.ByClaim, callers.Caller{Explicit: birch.ID})
	w.wantKnown(mail.ByProcess, callers.Caller{Client: "claude", PID: 10})
	w.wantKnown(mail.ByProcess, callers.Caller{Client: "claude", ClientID: "b", PID: 10})
	w.wantKnown(mail.ByClaim, callers.Caller{Client: "claude", ClientID: "b", PID: 30})
	w.wantKnown(mail.ByClaim, callers.Caller{Client: "claude", ClientID: "b"})
	w.wantKnown(mail.ByProcess, callers.Caller{Client: "claude", Remote: true, PID: 10})
	w.wantKnown(mail.ByClaim, callers.Caller{Client: "claude", Remote: true, Last: birch.ID})

	delete(w.table, 90) // its client has ended, and its id means nothing any more
	w.table[100] = sessions.Process{PID: 100, Parent: 1, Start: 7}
	w.wantKnown(mail.ByClaim, callers.Caller{Explicit: "amber"})
}

// From a container that shares the root, a process id means another process.
func TestAProcessOfAnotherNamespaceProvesNothing(t *testing.T) {
	w := newTableWorld(t)
	w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 90})
	w.Processes = elsewhere{w.table}
	w.wantKnown(mail.ByClaim, callers.Caller{Explicit: "amber"})
	w.register("birch", callers.Caller{Client: "claude", ClientID: "b", PID: 90})
	w.wantKnown(mail.ByProcess, callers.Caller{})
}

// An agent in the shell of another one is not that one.
func TestAnInnerClientDoesNotWriteAsTheOuterOne(t *testing.T) {
	w := newTableWorld(t)
	w.table[90] = sessions.Process{PID: 90, Parent: 80, Start: 6}
	w.table[80] = sessions.Process{PID: 80, Parent: 1, Start: 5}
	w.register("outer", callers.Caller{Client: "claude", ClientID: "o", PID: 80})
	w.register("inner", callers.Caller{Client: "gemini", ClientID: "i", PID: 90})
	w.wantKnown(mail.ByProcess, callers.Caller{})
	w.wantKnown(mail.ByClaim, callers.Caller{Explicit: "outer"})
}

// Sessions that share a process are told apart by what the client has given to the shell, not by
// what a command in it has set.
func TestASharedProcessNamesTheSessionOfItsShell(t *testing.T) {
	w := newTableWorld(t)
	w.register("one", callers.Caller{Client: "codex", ClientID: "t1", PID: 90})
	w.register("two", callers.Caller{Client: "codex", ClientID: "t2", PID: 90})
	w.Processes = shells{w.table, map[int]string{100: "CODEX_THREAD_ID=t1"}}
	w.wantKnown(mail.ByProcess, callers.Caller{Getenv: env("CODEX_THREAD_ID", "t1")})
	w.wantKnown(mail.ByClaim, callers.Caller{Getenv: env("CODEX_THREAD_ID", "t2")})
	w.wantKnown(mail.ByClaim, callers.Caller{Explicit: "two", Getenv: env("CODEX_THREAD_ID", "t1")})
	w.wantKnown(mail.ByProcess, callers.Caller{Client: "codex", ClientID: "t2", PID: 90})
}

func TestAPersonIsKnownAtATerminal(t *testing.T) {
	w := newTableWorld(t)
	shell, job := &callers.User{UID: 7, Login: "pat", Terminal: true}, &callers.User{UID: 7, Login: "pat"}
	w.attach(callers.Caller{User: shell})
	w.wantKnown(mail.ByPerson, callers.Caller{User: shell})
	w.wantKnown(mail.ByPerson, callers.Caller{User: shell, Explicit: "pat"})
	w.wantKnown(mail.ByPerson, callers.Caller{User: shell, Remote: true})
	w.wantKnown(mail.ByClaim, callers.Caller{User: job, Explicit: "pat"})
	w.Processes = elsewhere{w.table}
	w.wantKnown(mail.ByClaim, callers.Caller{User: shell, Explicit: "pat"})
}

func TestAMessageHasTheWordOfItsSenderAndNoOther(t *testing.T) {
	w := newTableWorld(t)
	birch := w.register("birch", callers.Caller{Client: "claude", ClientID: "b", PID: 10})
	w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 90})
	for want, c := range map[string]callers.Caller{mail.ByProcess: {}, mail.ByClaim: {Explicit: "cedar"}} {
		w.register("cedar", callers.Caller{Client: "claude", ClientID: "c", PID: 20})
		from, err := callers.Resolve(t.Context(), w.Registry, c)
		if err != nil {
			t.Fatal(err)
		}
		m := mail.Message{To: "birch", Content: "hi", KnownBy: mail.ByPerson, StartedBy: "pat"}
		r, err := w.Send(t.Context(), from, m)
		if err != nil {
			t.Fatal(err)
		}
		is, err := w.Status(t.Context(), r.ID)
		if err != nil || is.KnownBy != want || is.StartedBy != "" {
			t.Errorf("status %+v, %v; want %q", is, err, want)
		}
	}
	from := birch
	from.KnownBy = "" // nobody has looked
	r, err := w.Send(t.Context(), from, mail.Message{To: "amber", Content: "hi"})
	if is, serr := w.Status(t.Context(), r.ID); err != nil || serr != nil || is.KnownBy != mail.ByClaim {
		t.Errorf("status %+v, %v, %v", is, err, serr)
	}
}

func TestMailOfAnotherHostIsKnownByItsSignature(t *testing.T) {
	w := newTableWorld(t)
	w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 90})
	m := mail.Message{From: "birch@devbox", FromSession: "devbox-1", ID: "m-1", Content: "hi", FromPerson: true, KnownBy: mail.ByPerson, StartedBy: "pat"}
	if _, err := broker.Receive(t.Context(), w.Broker, "amber", []mail.Message{m}, false); err != nil {
		t.Fatal(err)
	}
	if is, err := w.Status(t.Context(), "m-1"); err != nil || is.KnownBy != mail.ByHost || is.StartedBy != "" || !strings.Contains(is.Sender(), "devbox") {
		t.Errorf("status %+v, %v", is, err)
	}
}

// A program that writes the mailbox itself has no word, or one that c2c does not take from anybody
// else.
func TestMailWrittenToTheFileHasNoWord(t *testing.T) {
	w := newTableWorld(t)
	amber := w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 90})
	data := fmt.Sprintf(`[{"from_alias":"birch","to_alias":"amber","content":"hi","ts":%f,"message_id":"m-1"}]`, mail.Seconds(w.clock))
	if err := os.WriteFile(filepath.Join(w.cfg.Root, amber.ID+".inbox.json"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	is, err := w.Status(t.Context(), "m-1")
	if err != nil || is.KnownBy != "" || !strings.Contains(is.Sender(), "does not know") {
		t.Errorf("status %+v, %v", is, err)
	}
}

func TestASessionKnowsWhichSessionHasStartedIt(t *testing.T) {
	w := newTableWorld(t)
	w.table[90] = sessions.Process{PID: 90, Parent: 80, Start: 6}
	w.table[80] = sessions.Process{PID: 80, Parent: 1, Start: 5}
	outer := w.register("outer", callers.Caller{Client: "claude", ClientID: "o", PID: 80})
	inner := w.register("inner", callers.Caller{Client: "gemini", ClientID: "i", PID: 90})
	if outer.Facts.StartedBy != "" || inner.Facts.StartedBy != outer.ID {
		t.Fatalf("outer was started by %q, inner by %q", outer.Facts.StartedBy, inner.Facts.StartedBy)
	}
	from, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Send(t.Context(), from, mail.Message{To: "outer", Content: "done"})
	if err != nil {
		t.Fatal(err)
	}
	if is, err := w.Status(t.Context(), r.ID); err != nil || is.StartedBy != "outer" || !strings.HasSuffix(is.Sender(), "outer has started it") {
		t.Errorf("status %+v, %v", is, err)
	}
	again := w.attach(callers.Caller{Client: "gemini", ClientID: "i", PID: 20}) // resumed in a terminal of its person
	if again.ID != inner.ID || again.Facts.StartedBy != "" {
		t.Errorf("resumed: %+v", again)
	}
}
