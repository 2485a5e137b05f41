package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func TestAPartOfAnIDIsEnough(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	first := w.send(amber, "birch", "one").ID
	w.read(birch.ID)
	waiting := w.send(amber, "birch", "two").ID
	for _, id := range []string{first, waiting} {
		for _, typed := range []string{id, mail.ShortID(id), id[len(id)-12:], id[:35]} {
			st, err := w.Status(t.Context(), typed)
			if err != nil || st.ID != id {
				t.Errorf("%s: %+v, %v; want %s", typed, st, err, id)
			}
		}
		if _, err := w.Status(t.Context(), id[len(id)-7:]); !errors.Is(err, broker.ErrNoMessage) {
			t.Errorf("seven characters: %v", err)
		}
		if _, err := w.Status(t.Context(), id[9:20]); !errors.Is(err, broker.ErrNoMessage) {
			t.Errorf("the middle: %v", err)
		}
	}
}

func TestAPartOfTwoIDsNamesBoth(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{PID: w.pid(20)})
	for _, id := range []string{"release-1-notes", "release-1", "release-2"} {
		if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", ID: id, Content: "the words of " + id}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.Status(t.Context(), "release-")
	if err == nil {
		t.Fatal("one of them is meant")
	}
	for _, want := range []string{"3 messages", "release-1 (amber to birch", "the words of release-2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q says nothing of %q", err, want)
		}
	}
	if st, err := w.Status(t.Context(), "release-1"); err != nil || st.ID != "release-1" {
		t.Errorf("a whole id that another one begins with: %+v, %v", st, err)
	}
}

func TestAnAnswerIsStoredWithTheWholeID(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	id := w.send(amber, "birch", "one").ID
	const gone = "01890a5d-ac96-774b-bcce-b302099a8057"
	if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", ID: "job-7", Content: "two"}); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{mail.ShortID(id): id, "job-7": "job-7", gone: gone} {
		if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber", Content: "x", InReplyTo: typed}); err != nil {
			t.Errorf("%s: %v", typed, err)
			continue
		}
		w.read(amber.ID)
		if last, err := w.box(amber.ID).Archive().History(t.Context(), 1); err != nil || last[0].InReplyTo != want {
			t.Errorf("%s: %+v, %v", typed, last, err)
		}
	}
	for _, typed := range []string{"zzzz", "job-8", "a-job-of-last-year"} { // who believes that it has answered must not be wrong
		if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber", Content: "x", InReplyTo: typed}); !errors.Is(err, broker.ErrNoMessage) {
			t.Errorf("%s: %v", typed, err)
		}
	}
	_, err := w.Send(t.Context(), birch, mail.Message{To: "amber", Content: "x", InReplyTo: "b302099a"})
	if !errors.Is(err, broker.ErrNoMessage) {
		t.Errorf("a short id of nobody: %v", err)
	}
}

// The message that another program has left there has an id that is none.
func TestAnIDThatIsNoNameIsNotTaken(t *testing.T) {
	w := newWorld(t)
	w.register("birch", callers.Caller{PID: w.pid(20), Explicit: "birch"})
	plant := `[{"from_alias":"x","to_alias":"birch","content":"c","message_id":"abcdef12\u001b[31m"}]`
	if err := w.Dir().Write("birch.inbox.json", []byte(plant)); err != nil {
		t.Fatal(err)
	}
	if st, err := w.Status(t.Context(), "abcdef12"); !errors.Is(err, broker.ErrNoMessage) {
		t.Errorf("%+v, %v", st, err)
	}
}

// A process that was stopped may have a mailbox locked: that is no reason to find nothing in the
// others.
func TestALockedMailboxHidesNoOther(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	w.send(amber, "cedar", "waits")
	id := w.send(amber, "birch", "one").ID
	lock, err := atomicfile.Acquire(t.Context(), w.Dir(), w.box(cedar.ID).LockName())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := w.Send(ctx, birch, mail.Message{To: "amber", Content: "two", InReplyTo: mail.ShortID(id)})
	if err != nil || r.InReplyTo != id {
		t.Errorf("%+v, %v", r, err)
	}
}

// Of what is not kept the log knows the id: an ephemeral message, and one whose chosen id looks
// like a part of another.
func TestAMessageThatIsNotKeptCanBeAnswered(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	ids := map[string]string{"20261122-1": "20261122-1"}
	for _, m := range []mail.Message{{Ephemeral: true}, {ID: "20261122-1"}} {
		m.To, m.Content = "birch", "one"
		r, err := w.Send(t.Context(), amber, m)
		if err != nil {
			t.Fatal(err)
		}
		ids[mail.ShortID(r.ID)] = r.ID
	}
	w.read(birch.ID)
	if _, err := w.box(birch.ID).Archive().Prune(t.Context(), time.Now().Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	for typed, id := range ids {
		r, err := w.Send(t.Context(), birch, mail.Message{To: "amber", Content: "two", InReplyTo: typed})
		if err != nil || r.InReplyTo != id {
			t.Errorf("%s: %+v, %v", typed, r, err)
		}
	}
}

// What others have that ends like an id that one was shown is nothing to who answers.
func TestAShortIDMeansTheOwnMessageFirst(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	const end = "1890a5d-ac96-774b-bcce-b302099a8057"
	for to, id := range map[string]string{"birch": "0" + end, "cedar": "1" + end} {
		if _, err := w.Send(t.Context(), amber, mail.Message{To: to, ID: id, Content: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	w.read(birch.ID)
	for id, from := range map[string]sessions.Session{"0" + end: birch, "1" + end: cedar} {
		r, err := w.Send(t.Context(), from, mail.Message{To: "amber", Content: "two", InReplyTo: "099a8057"})
		if err != nil || r.InReplyTo != id {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
}

// A status right behind a send looks into the receiver's mailbox alone. Where the log does not know
// better, or does not say what is so, it looks everywhere.
func TestAStatusOfWhatWasSentLatelyBelievesTheLogOnlyAsFarAsTheMailboxAgrees(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{PID: w.pid(20)})
	w.register("coral", callers.Caller{PID: w.pid(30)})
	id := w.send(amber, "birch", "is it green?").ID
	log := w.file(logFile)
	want := func(what string) {
		t.Helper()
		for _, typed := range []string{id, mail.ShortID(id)} {
			if st, err := w.Status(t.Context(), typed); err != nil || st.ID != id || st.To != "birch" || st.State != sessions.Queued {
				t.Errorf("%s: %+v, %v", what, st, err)
			}
		}
	}
	want("as it is")
	for what, other := range map[string]string{
		"another receiver":           strings.ReplaceAll(log, `"to_alias":"birch"`, `"to_alias":"coral"`),
		"another sender":             strings.ReplaceAll(log, `"from_alias":"amber"`, `"from_alias":"coral"`),
		"nobody of that name":        strings.ReplaceAll(log, `"to_alias":"birch"`, `"to_alias":"../x"`),
		"two with that end":          log + strings.ReplaceAll(log, id, "0"+id[1:]),
		"half a line":                log[len(log)/2:],
		"no log at all":              "",
		"a line of another program":  log + `{"event":"dm_enqueue","message_id":["` + id + `"]}` + "\n",
		"a line that is no sentence": log + id + "\n",
	} {
		if err := os.WriteFile(filepath.Join(w.Root(), logFile), []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		want(what)
	}
}
