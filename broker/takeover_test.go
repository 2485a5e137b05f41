package broker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// What was held for the gone session is handed over to the heir at once.
func TestWhatWasHeldForOneThatIsGoneIsFree(t *testing.T) {
	t.Parallel()
	w, _, _, held := heldOnce(t)
	w.ends(201)
	dune := w.register("dune", callers.Caller{Client: "gem", PID: w.pid(30)})
	if _, err := moves.TakeOver(t.Context(), w.Registry, "s1", "dune", false, false); err != nil {
		t.Fatal(err)
	}
	msgs, err := w.box(dune.ID).Peek(t.Context())
	if err != nil || !slices.ContainsFunc(msgs, func(m mail.Message) bool { return m.ID == held.ID }) {
		t.Errorf("it is handed %v, %v", msgs, err)
	}
}

// gone is leaving when birch has ended.
func gone(t *testing.T) (w *world, amber, birch, coral, dune sessions.Session) {
	w, amber, birch, coral, dune = leaving(t)
	w.ends(20)
	return w, amber, birch, coral, dune
}

// leaving is a birch with mail of amber unread, a question of coral read and not answered, and one
// that it has answered; dune is to go on.
func leaving(t *testing.T) (w *world, amber, birch, coral, dune sessions.Session) {
	w, amber, birch = pair(t)
	coral = w.register("coral", callers.Caller{Client: "gem", ClientID: "c", PID: w.pid(30)})
	w.starts(40)
	dune = w.register("dune", callers.Caller{Client: "gem", ClientID: "d", PID: w.pid(40)})
	ask := func(from sessions.Session, body string) broker.Receipt {
		r, err := w.Send(t.Context(), from, mail.Message{To: "birch", Content: body, Kind: "question"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ask(coral, "which port")
	answered := ask(coral, "which host")
	w.read(birch.ID)
	if _, err := w.Send(t.Context(), birch, mail.Message{To: "coral", Content: "this one", InReplyTo: answered.ID}); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "one")
	w.send(amber, "birch", "two")
	w.send(dune, "birch", "mine")
	return w, amber, birch, coral, dune
}

func (w *world) wantTakeover(amber, birch, coral, dune sessions.Session) {
	w.t.Helper()
	w.wantNotices(amber.ID, "dune goes on with the work of birch, under the name birch, and gets your unread messages (2).")
	w.wantNotices(coral.ID, `under the name birch. Read and not answered: "which port" (`)
	w.wantNotices(dune.ID, "You go on with the work of birch: you are birch now, and no longer dune.")
	var bodies []string
	msgs, err := w.box(dune.ID).Peek(w.t.Context())
	for _, m := range msgs {
		if m.From != sessions.SystemAlias {
			bodies = append(bodies, m.Content)
		}
	}
	if got := strings.Join(bodies, "|"); err != nil || got != "one|two|mine" {
		w.t.Errorf("the heir has %q, %v", got, err)
	}
	w.wantMail(birch.ID)
	if s, err := callers.Resolve(w.t.Context(), w.Registry, callers.Caller{Explicit: dune.ID}); err != nil || s.Alias != "birch" {
		w.t.Errorf("the heir is %q, %v", s.Alias, err)
	}
	list, err := w.Sessions(w.t.Context())
	if err != nil {
		w.t.Error(err)
	}
	for _, s := range list {
		if s.ID == birch.ID || (s.Alias == "birch") != (s.ID == dune.ID) {
			w.t.Errorf("registered is %+v", s)
		}
	}
	if box, err := moves.LeftMailbox(w.Registry, birch.ID); err != nil {
		w.t.Error(err)
	} else if read, err := box.Archive().History(w.t.Context(), 10); err != nil || len(read) != 2 {
		w.t.Errorf("what it had read: %v, %v", read, err)
	}
}

func TestASessionTakesOverNameAndMailOfOneThatIsGone(t *testing.T) {
	t.Parallel()
	w, amber, birch, coral, dune := gone(t)
	would, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, true)
	if err != nil || would.Waiting != 3 || strings.Join(would.Told, " ") != "amber coral" {
		t.Errorf("would do %+v, %v", would, err)
	}
	w.wantNotices(amber.ID)
	w.wantMail(dune.ID)
	did, err := moves.TakeOver(t.Context(), w.Registry, "Birch", "dune", false, false)
	if err != nil || did.Waiting != 3 || did.Late {
		t.Errorf("did %+v, %v", did, err)
	}
	w.wantTakeover(amber, birch, coral, dune)
	again, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, false)
	if err != nil || !again.Again || again.From != birch.ID {
		t.Errorf("again %+v, %v", again, err)
	}
	w.wantTakeover(amber, birch, coral, dune)
	for _, c := range [][2]string{{birch.ID, dune.ID}, {birch.ID, "dune"}, {"birch", dune.ID}} {
		if again, err := moves.TakeOver(t.Context(), w.Registry, c[0], c[1], false, false); err != nil || !again.Again || again.From != birch.ID {
			t.Errorf("again, from %s to %s: %+v, %v", c[0], c[1], again, err)
		}
	}
	w.wantTakeover(amber, birch, coral, dune)
	w.send(amber, "birch", "later")
	w.wantMail(birch.ID)
	w.starts(20)
	if back := w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)}); back.ID != birch.ID || back.Alias == "birch" {
		t.Errorf("who is back is %+v", back)
	}
}

func TestNobodyTakesOverFromWhoMayRun(t *testing.T) {
	t.Parallel()
	w, amber, birch, coral, dune := leaving(t)
	if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, false); !errors.Is(err, moves.ErrRuns) {
		t.Errorf("error %v", err)
	}
	w.wantNotices(amber.ID)
	me := w.attach(callers.Caller{User: &callers.User{UID: 7, Login: "dana", Terminal: true}})
	for _, c := range [][2]string{{"birch", "nobody"}, {"nobody", "dune"}, {"birch", "birch"}, {"birch", me.Alias}, {me.Alias, "dune"}} {
		if _, err := moves.TakeOver(t.Context(), w.Registry, c[0], c[1], true, false); err == nil {
			t.Errorf("handed over from %s to %s", c[0], c[1])
		}
	}
	if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", true, false); err != nil {
		t.Fatal(err)
	}
	w.wantTakeover(amber, birch, coral, dune)
	msgs, err := w.box(amber.ID).Peek(t.Context())
	if said := fmt.Sprint(msgs); err != nil || strings.Contains(said, "is gone") {
		t.Errorf("the session of birch still runs, and amber reads %s (%v)", said, err)
	}
}

// A kill behind each step; the same command then completes it. Where the alias has gone over, so
// does the next call of the heir.
func TestATakeoverIsResumedWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]func(w *world, took moves.Takeover) error{
		"behind the first notice": func(w *world, took moves.Takeover) error {
			rows, err := w.Rows(w.t.Context())
			if err != nil {
				return err
			}
			from, to, err := moves.TakeoverPair(w.Registry, rows, "birch", "dune", false)
			if err != nil {
				return err
			}
			letters, err := moves.Writers(w.t.Context(), w.Registry, rows, from, to)
			if err != nil {
				return err
			}
			return moves.TellWriter(w.t.Context(), w.Registry, took, letters[0])
		},
		"behind the facts": func(w *world, took moves.Takeover) error {
			rows, err := w.Rows(w.t.Context())
			if err == nil {
				_, err = moves.GiveAlias(w.t.Context(), w.Registry, rows, took, nil, false)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, coral, dune := gone(t)
			if err := steps(w, moves.Takeover{From: birch.ID, To: dune.ID, Alias: "birch", Former: "dune"}); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Minute)
			if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, false); err != nil {
				t.Fatal(err)
			}
			w.wantTakeover(amber, birch, coral, dune)
		})
	}
	for name, complete := range map[string]func(w *world, birch, dune sessions.Session) error{
		"by the same command": func(w *world, _, _ sessions.Session) error {
			_, err := moves.TakeOver(w.t.Context(), w.Registry, "birch", "dune", false, false)
			return err
		},
		"by the same command with ids": func(w *world, birch, dune sessions.Session) error {
			_, err := moves.TakeOver(w.t.Context(), w.Registry, birch.ID, dune.ID, false, false)
			return err
		},
		"by a hook of the heir's": func(w *world, _, _ sessions.Session) error {
			_, err := w.Attach(w.t.Context(), callers.Caller{Client: "gem", ClientID: "d", PID: w.pid(40)})
			return err
		},
	} {
		t.Run("behind the registry, "+name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, _, dune := gone(t)
			unblock := w.block(dune.ID) // its mail cannot be moved
			if t2, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, false); err == nil && !t2.Late {
				t.Errorf("did %+v", t2)
			}
			unblock()
			if t2, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, true); err != nil || !t2.Again || !t2.Late {
				t.Errorf("would do %+v, %v", t2, err)
			}
			w.wantMail(dune.ID)
			if err := complete(w, birch, dune); err != nil {
				t.Fatal(err)
			}
			w.wantNotices(amber.ID, "unread messages (2)")
			msgs, err := w.box(dune.ID).Peek(t.Context())
			if n := len(msgs) - len(w.notices(dune.ID)); err != nil || n != 3 {
				t.Errorf("the heir has %v, %v", msgs, err)
			}
			w.wantMail(birch.ID)
		})
	}
}

// The client of a session that was taken over by force lives, and has registered it again, before
// its mail could be moved.
func TestMailComesWithTheAliasThoughTheOldSessionIsBack(t *testing.T) {
	t.Parallel()
	w, _, birch, _, dune := leaving(t)
	unblock := w.block(dune.ID)
	if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", true, false); err != nil {
		t.Log(err) // its notice cannot be stored
	}
	back, err := w.Attach(t.Context(), callers.Caller{Client: birch.Client, ClientID: birch.ClientID(), PID: birch.PID})
	if err != nil || back.ID != birch.ID || back.Alias == "birch" {
		t.Fatalf("it is back as %+v, %v", back, err)
	}
	unblock()
	if _, err := w.Attach(t.Context(), callers.Caller{Client: "gem", ClientID: "d", PID: w.pid(40)}); err != nil {
		t.Fatal(err)
	}
	msgs, err := w.box(dune.ID).Peek(t.Context())
	if n := len(msgs) - len(w.notices(dune.ID)); err != nil || n != 3 {
		t.Errorf("the heir has %v, %v", msgs, err)
	}
	w.wantMail(birch.ID)
}

// The heir is taken over from before its mail has come.
func TestTheNextHeirGetsWhatTheFirstHasNotGotYet(t *testing.T) {
	t.Parallel()
	w, _, birch, _, dune := gone(t)
	w.starts(50)
	ember := w.register("ember", callers.Caller{Client: "gem", ClientID: "e", PID: w.pid(50)})
	rows, err := w.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	took := moves.Takeover{From: birch.ID, To: dune.ID, Alias: "birch", Former: "dune"}
	if err := w.Change(t.Context(), func([]sessions.Row) ([]sessions.Row, error) {
		return moves.GiveAlias(t.Context(), w.Registry, rows, took, nil, false)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "ember", true, false); err != nil {
		t.Fatal(err)
	}
	w.wantMail(birch.ID)
	msgs, err := w.box(ember.ID).Peek(t.Context())
	if n := len(msgs) - len(w.notices(ember.ID)); err != nil || n != 3 {
		t.Errorf("the second heir has %v, %v", msgs, err)
	}
}

// After a takeover the sessions have changed, so the same words name others, or the takeover is
// over.
func TestATakeoverIsNotTakenForAnEarlierOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change    func(w *world, birch, dune sessions.Session)
		old, heir func(birch, dune sessions.Session) string
	}{
		"the heir's id is the alias of another session": {
			func(w *world, _, dune sessions.Session) {
				w.register(dune.ID, callers.Caller{Explicit: "zed", PID: w.pid(60)})
			},
			func(sessions.Session, sessions.Session) string { return "birch" }, func(_, dune sessions.Session) string { return dune.ID }},
		"the old id is the alias of another session": {
			func(w *world, birch, _ sessions.Session) {
				w.register(birch.ID, callers.Caller{Explicit: "zed", PID: w.pid(60)})
			},
			func(birch, _ sessions.Session) string { return birch.ID }, func(_, dune sessions.Session) string { return dune.ID }},
		"the old session is back": {
			func(w *world, _, _ sessions.Session) {
				w.starts(20)
				w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
			},
			func(sessions.Session, sessions.Session) string { return "birch" }, func(_, dune sessions.Session) string { return dune.ID }},
		"the heir was renamed": {
			func(w *world, _, dune sessions.Session) {
				w.register("oak", callers.Caller{Explicit: dune.ID, PID: w.pid(40)})
			},
			func(birch, _ sessions.Session) string { return birch.ID }, func(_, dune sessions.Session) string { return dune.ID }},
	} {
		w, _, birch, _, dune := gone(t)
		if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "dune", false, false); err != nil {
			t.Fatal(err)
		}
		c.change(w, birch, dune)
		if got, err := moves.TakeOver(t.Context(), w.Registry, c.old(birch, dune), c.heir(birch, dune), false, true); got.Again {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// The session was started between the question whether it runs and the takeover.
func TestNobodyIsToldOfATakeoverThatIsRefused(t *testing.T) {
	t.Parallel()
	w, amber, birch, coral, dune := leaving(t)
	rows, err := w.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	letters, err := moves.Writers(t.Context(), w.Registry, rows, birch, dune)
	if err != nil || len(letters) == 0 {
		t.Fatal(letters, err)
	}
	_, err = moves.GiveAlias(t.Context(), w.Registry, rows, moves.Takeover{From: birch.ID, To: dune.ID, Alias: "birch", Former: "dune"}, letters, false)
	if !errors.Is(err, moves.ErrRuns) {
		t.Errorf("error %v", err)
	}
	w.wantNotices(amber.ID)
	w.wantNotices(coral.ID)
}
