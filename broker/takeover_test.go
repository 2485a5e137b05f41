package broker

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
)

// gone is a birch that has ended with mail of amber unread, a question of coral read and not answered, and one that
// it has answered; dune is to go on.
func gone(t *testing.T) (w *world, amber, birch, coral, dune Session) {
	w, amber, birch = pair(t)
	coral = w.register("coral", Caller{Client: "gem", ClientID: "c", PID: 30})
	w.procs[40] = process{pid: 40, parent: 1, start: 4}
	dune = w.register("dune", Caller{Client: "gem", ClientID: "d", PID: 40})
	ask := func(from Session, body string) Receipt {
		r, err := w.Send(t.Context(), from, inbox.Message{To: "birch", Content: body, Kind: "question"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ask(coral, "which port")
	answered := ask(coral, "which host")
	w.read(birch.ID)
	if _, err := w.Send(t.Context(), birch, inbox.Message{To: "coral", Content: "this one", InReplyTo: answered.ID}); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "one")
	w.send(amber, "birch", "two")
	w.send(dune, "birch", "mine")
	delete(w.procs, 20)
	return w, amber, birch, coral, dune
}

func (w *world) wantTakeover(amber, birch, coral, dune Session) {
	w.t.Helper()
	w.wantNotices(amber.ID, "dune goes on with its work, under the name birch, and gets what was not read of yours (messages: 2).")
	w.wantNotices(coral.ID, `under the name birch. Read and not answered: "which port" (`)
	w.wantNotices(dune.ID, "You go on with the work of birch: you are birch now, and no longer dune.")
	var bodies []string
	msgs, err := w.box(dune.ID).Peek(w.t.Context())
	for _, m := range msgs {
		if m.From != SystemAlias {
			bodies = append(bodies, m.Content)
		}
	}
	if got := strings.Join(bodies, "|"); err != nil || got != "one|two|mine" {
		w.t.Errorf("the heir has %q, %v", got, err)
	}
	w.wantMail(birch.ID)
	if s, err := w.Resolve(w.t.Context(), Caller{Explicit: dune.ID}); err != nil || s.Alias != "birch" {
		w.t.Errorf("the heir is %q, %v", s.Alias, err)
	}
	rows, err := w.rows(w.t.Context())
	if err != nil || findSID(rows, birch.ID) >= 0 || len(holders(rows, "birch")) != 1 {
		w.t.Errorf("registry %s, %v", rows, err)
	}
	if box, err := w.LeftMailbox(birch.ID); err != nil {
		w.t.Error(err)
	} else if read, err := box.History(w.t.Context(), 10); err != nil || len(read) != 2 {
		w.t.Errorf("what it had read: %v, %v", read, err)
	}
}

func TestASessionTakesOverNameAndMailOfOneThatIsGone(t *testing.T) {
	t.Parallel()
	w, amber, birch, coral, dune := gone(t)
	would, err := w.Takeover(t.Context(), "birch", "dune", false, true)
	if err != nil || would.Waiting != 3 || strings.Join(would.Told, " ") != "amber coral" {
		t.Errorf("would do %+v, %v", would, err)
	}
	w.wantNotices(amber.ID)
	w.wantMail(dune.ID)
	did, err := w.Takeover(t.Context(), "Birch", "dune", false, false)
	if err != nil || did.Waiting != 3 || did.Left {
		t.Errorf("did %+v, %v", did, err)
	}
	w.wantTakeover(amber, birch, coral, dune)
	again, err := w.Takeover(t.Context(), "birch", "dune", false, false)
	if err != nil || !again.Ended || again.From != birch.ID {
		t.Errorf("again %+v, %v", again, err)
	}
	w.wantTakeover(amber, birch, coral, dune)
	w.send(amber, "birch", "later")
	w.wantMail(birch.ID)
	w.procs[20] = process{pid: 20, parent: 1, start: 2}
	if back := w.attach(Caller{Client: "codex", ClientID: "b", PID: 20}); back.ID != birch.ID || back.Alias == "birch" {
		t.Errorf("who is back is %+v", back)
	}
}

func TestNobodyTakesOverFromWhoMayRun(t *testing.T) {
	t.Parallel()
	w, amber, birch, coral, dune := gone(t)
	w.procs[20] = process{pid: 20, parent: 1, start: 2}
	if _, err := w.Takeover(t.Context(), "birch", "dune", false, false); !errors.Is(err, ErrRuns) {
		t.Errorf("error %v", err)
	}
	w.wantNotices(amber.ID)
	me := w.attach(Caller{User: &User{UID: 7, Login: "dana", Terminal: true}})
	for _, c := range [][2]string{{"birch", "nobody"}, {"nobody", "dune"}, {"birch", "birch"}, {"birch", me.Alias}, {me.Alias, "dune"}} {
		if _, err := w.Takeover(t.Context(), c[0], c[1], true, false); err == nil {
			t.Errorf("handed over from %s to %s", c[0], c[1])
		}
	}
	if _, err := w.Takeover(t.Context(), "birch", "dune", true, false); err != nil {
		t.Fatal(err)
	}
	w.wantTakeover(amber, birch, coral, dune)
}

// A kill behind each step; the same command then completes it. Where the alias has gone over, so does the next call of
// the heir.
func TestATakeoverIsResumedWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]func(w *world, took Takeover) error{
		"behind the first notice": func(w *world, took Takeover) error {
			rows, err := w.rows(w.t.Context())
			if err != nil {
				return err
			}
			from, to, err := w.takeoverPair(rows, "birch", "dune", false)
			if err != nil {
				return err
			}
			letters, err := w.writers(w.t.Context(), rows, from, to)
			if err != nil {
				return err
			}
			return w.tellWriter(w.t.Context(), took, letters[0])
		},
		"behind the facts": func(w *world, took Takeover) error {
			rows, err := w.rows(w.t.Context())
			if err == nil {
				_, err = w.giveAlias(w.t.Context(), rows, took, nil, false)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, coral, dune := gone(t)
			if err := steps(w, Takeover{From: birch.ID, To: dune.ID, Alias: "birch", Former: "dune"}); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Minute)
			if _, err := w.Takeover(t.Context(), "birch", "dune", false, false); err != nil {
				t.Fatal(err)
			}
			w.wantTakeover(amber, birch, coral, dune)
		})
	}
	for name, complete := range map[string]func(w *world) error{
		"by the same command": func(w *world) error { _, err := w.Takeover(w.t.Context(), "birch", "dune", false, false); return err },
		"by a hook of the heir's": func(w *world) error {
			_, err := w.Attach(w.t.Context(), Caller{Client: "gem", ClientID: "d", PID: 40})
			return err
		},
	} {
		t.Run("behind the registry, "+name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, _, dune := gone(t)
			unblock := w.block(dune.ID) // its mail cannot be moved
			if t2, err := w.Takeover(t.Context(), "birch", "dune", false, false); err == nil && !t2.Left {
				t.Errorf("did %+v", t2)
			}
			unblock()
			if err := complete(w); err != nil {
				t.Fatal(err)
			}
			w.wantNotices(amber.ID, "messages: 2")
			msgs, err := w.box(dune.ID).Peek(t.Context())
			if n := len(msgs) - len(w.notices(dune.ID)); err != nil || n != 3 {
				t.Errorf("the heir has %v, %v", msgs, err)
			}
			w.wantMail(birch.ID)
		})
	}
}

// What was held for the gone session is handed over to the heir at once.
func TestWhatWasHeldForOneThatIsGoneIsFree(t *testing.T) {
	t.Parallel()
	w, _, birch, held := heldOnce(t)
	delete(w.procs, birch.PID)
	dune := w.register("dune", Caller{Client: "gem", PID: 30})
	if _, err := w.Takeover(t.Context(), "s1", "dune", false, false); err != nil {
		t.Fatal(err)
	}
	msgs, err := w.box(dune.ID).Peek(t.Context())
	if err != nil || !slices.ContainsFunc(msgs, func(m inbox.Message) bool { return m.ID == held.ID }) {
		t.Errorf("it is handed %v, %v", msgs, err)
	}
}

// The session was started between the question whether it runs and the takeover.
func TestNobodyIsToldOfATakeoverThatIsRefused(t *testing.T) {
	t.Parallel()
	w, amber, birch, coral, dune := gone(t)
	rows, err := w.rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	letters, err := w.writers(t.Context(), rows, birch, dune)
	if err != nil || len(letters) == 0 {
		t.Fatal(letters, err)
	}
	w.procs[20] = process{pid: 20, parent: 1, start: 2}
	_, err = w.giveAlias(t.Context(), rows, Takeover{From: birch.ID, To: dune.ID, Alias: "birch", Former: "dune"}, letters, false)
	if !errors.Is(err, ErrRuns) {
		t.Errorf("error %v", err)
	}
	w.wantNotices(amber.ID)
	w.wantNotices(coral.ID)
}
