package broker_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// unanswered is a message that birch, a session of a client with ids, was handed and has not
// answered.
func unanswered(t *testing.T, m mail.Message) (w *world, amber, birch sessions.Session, id string) {
	t.Helper()
	w, amber, _ = expecting(t)
	birch = w.register("maple", callers.Caller{Client: "claude", ClientID: "first", PID: w.starts(31)})
	if err := sessions.ExpectAnswers(w.Registry, birch.ID); err != nil {
		t.Fatal(err)
	}
	m.Content = "the port is 80"
	id = w.put(amber, "maple", m).ID
	w.pass(time.Second)
	w.read(birch.ID)
	w.wantSaid(id, sessions.Handed)
	w.pass(time.Second)
	return w, amber, birch, id
}

func (w *world) wantSaid(id, state string) {
	w.t.Helper()
	if st, err := w.Status(w.t.Context(), id); err != nil || st.State != state || len(st.Others) > 0 {
		w.t.Errorf("status says %q (%s) and %d others, want %q: %v", st.State, st.Sentence(), len(st.Others), state, err)
	}
}

func (w *world) answers(sid string) {
	w.t.Helper()
	if err := sessions.SawAnswer(w.Registry, sid, time.Time{}); err != nil {
		w.t.Fatal(err)
	}
}

// wantBack wants the message in the mailbox once, marked.
func (w *world) wantBack(sid string) {
	w.t.Helper()
	msgs := w.waiting(sid)
	if len(msgs) != 1 || !strings.Contains(msgs[0].Envelope(), ` shown_before="perhaps">`) {
		w.t.Errorf("there waits %+v", msgs)
	}
}

// After /clear the client has another conversation, which has nothing of what the one before was
// handed.
func TestAConversationThatEndsGivesBackWhatItHasNotAnswered(t *testing.T) {
	t.Parallel()
	w, amber, birch, id := unanswered(t, mail.Message{})
	later := w.put(amber, "maple", mail.Message{Content: "and the host is x"}).ID
	attach := func(client string) {
		t.Helper()
		if s, err := w.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: client, PID: w.pid(31)}); err != nil || s.ID != birch.ID {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	attach("first") // it goes on
	w.wantSaid(id, sessions.Handed)
	for _, client := range []string{"second", "third"} {
		attach(client)
		attach(client)
		w.answers(birch.ID) // of the new conversation, to something else
		w.wantSaid(id, sessions.Queued)
		if msgs := w.waiting(birch.ID); msgs[0].ID != id || msgs[0].ShownAt == 0 || client == "second" && msgs[1].ID != later {
			t.Errorf("there waits %+v", msgs)
		}
		w.pass(time.Second)
		w.read(birch.ID)
		w.wantSaid(id, sessions.Handed)
		w.pass(time.Second)
	}
	w.answers(birch.ID)
	attach("fourth")
	w.wantSaid(id, sessions.Read)
	w.wantSaid(later, sessions.Read)
	if msgs := w.waiting(birch.ID); len(msgs) > 0 {
		t.Errorf("what was answered waits again: %+v", msgs)
	}
}

// The model failed, and the session has ended. The next session of that name gets the mail, and
// also if it fails, the one after it.
func TestTheNextSessionOfANameGetsWhatTheLastOneHasNotAnswered(t *testing.T) {
	t.Parallel()
	w, _, birch, id := unanswered(t, mail.Message{})
	w.ends(31)
	sids := []string{birch.ID}
	for i, client := range []string{"second", "first"} {
		next := w.register("maple", callers.Caller{Client: "claude", ClientID: client, PID: w.starts(32 + i)})
		sids = append(sids, next.ID)
		if err := sessions.ExpectAnswers(w.Registry, next.ID); err != nil {
			t.Fatal(err)
		}
		w.wantBack(next.ID)
		w.wantSaid(id, sessions.Queued)
		w.pass(time.Second)
		w.read(next.ID)
		w.wantSaid(id, sessions.Handed)
		w.pass(time.Second)
		w.ends(32 + i)
	}
	if sids[2] != sids[0] {
		t.Errorf("the first session has not come back: %q", sids)
	}
	w.answers(sids[2])
	w.wantSaid(id, sessions.Read)
}

// A session whose name and mail another one has taken over has nothing to answer any more: it gets
// none of that mail again, and nobody is told that it has not read it.
func TestWhatWasTakenOverIsNotUnreadInTheOldSession(t *testing.T) {
	t.Parallel()
	w, amber, birch, id := unanswered(t, mail.Message{})
	w.ends(31)
	heir := w.register("maple", callers.Caller{Client: "claude", ClientID: "second", PID: w.starts(32)})
	if err := sessions.ExpectAnswers(w.Registry, heir.ID); err != nil {
		t.Fatal(err)
	}
	w.wantBack(heir.ID)
	w.pass(time.Second)
	w.read(heir.ID)
	w.pass(time.Second)
	w.answers(heir.ID)
	w.wantSaid(id, sessions.Read)

	w.starts(33)
	for _, client := range []string{"first", "third"} { // it comes back, and begins another conversation
		if s, err := w.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: client, PID: w.pid(33)}); err != nil || s.ID != birch.ID {
			t.Fatalf("%+v, %v", s, err)
		}
		if msgs := w.waiting(birch.ID); len(msgs) > 0 {
			t.Errorf("it has again %+v", msgs)
		}
		k := owed.NewChecker(w.Registry)
		w.look(k)
		w.pass(time.Hour)
		w.look(k)
		w.wantNotices(amber.ID)
		w.wantSaid(id, sessions.Read)
	}
}

// The heir gets what the old session was handed and has not answered, too.
func TestATakeoverCountsWhatWasHandedAndNotAnswered(t *testing.T) {
	t.Parallel()
	w, amber, _, _ := unanswered(t, mail.Message{Kind: "question"})
	w.ends(31)
	heir := w.register("heir", callers.Caller{Client: "gem", PID: w.starts(32)})
	for _, dry := range []bool{true, false} {
		if did, err := moves.TakeOver(t.Context(), w.Registry, "maple", "heir", false, dry); err != nil || did.Waiting != 1 {
			t.Errorf("dry %v: %+v, %v", dry, did, err)
		}
	}
	w.wantNotices(amber.ID, "heir goes on with the work of maple, under the name maple, and gets your unread messages (1).")
	msgs := slices.DeleteFunc(w.waiting(heir.ID), func(m mail.Message) bool { return m.From == sessions.SystemAlias })
	if len(msgs) != 1 || msgs[0].ShownAt == 0 {
		t.Errorf("the heir has %+v", msgs)
	}
}

// A session that is resumed has the text in its history.
func TestAResumedSessionGetsNothingTwice(t *testing.T) {
	t.Parallel()
	w, _, birch, id := unanswered(t, mail.Message{})
	w.ends(31)
	if s := w.register("maple", callers.Caller{Client: "claude", ClientID: "first", PID: w.starts(32)}); s.ID != birch.ID {
		t.Fatalf("it is %s", s.ID)
	}
	w.wantSaid(id, sessions.Handed)
	if msgs := w.waiting(birch.ID); len(msgs) > 0 {
		t.Errorf("there waits %+v", msgs)
	}
	w.pass(time.Second)
	w.answers(birch.ID)
	w.wantSaid(id, sessions.Read)
}

// What was handed over and not answered is unread for every notice.
func TestASenderIsToldOfWhatNoModelHasAnswered(t *testing.T) {
	t.Parallel()
	const unread, ended = "maple has not read your message", "The session of maple has ended without reading your message"
	for name, is := range map[string]struct {
		m    mail.Message
		does func(w *world, sid string)
		wait time.Duration
		want []string
	}{
		"the model failed":               {mail.Message{}, nil, 30 * time.Minute, []string{unread}},
		"and its sender has set a time":  {mail.Message{TellAfter: 300}, nil, 5 * time.Minute, []string{unread}},
		"and the session has ended":      {mail.Message{}, func(w *world, _ string) { w.ends(31) }, 3 * time.Minute, []string{ended}},
		"and then it answered":           {mail.Message{}, func(w *world, sid string) { w.answers(sid) }, time.Hour, nil},
		"and its sender wants no notice": {mail.Message{TellAfter: -1}, nil, time.Hour, nil},
		"and then it answered and ended": {mail.Message{}, func(w *world, sid string) { w.answers(sid); w.ends(31) }, time.Hour, nil},
		"and another conversation began": {mail.Message{}, func(w *world, _ string) {
			w.Attach(w.t.Context(), callers.Caller{Client: "claude", ClientID: "second", PID: w.pid(31)})
		}, 30 * time.Minute, []string{unread}},
		"and a tool or a dialog is open": {mail.Message{}, func(w *world, sid string) {
			s, err := w.Attach(w.t.Context(), callers.Caller{Explicit: sid})
			if err == nil {
				err = w.SetTurn(w.t.Context(), s, sessions.Waiting, inbox.ByHook)
			}
			if err != nil {
				w.t.Error(err)
			}
		}, time.Hour, nil},
		"and its sender wants it in a hour": {mail.Message{TellAfter: 3600}, nil, 59 * time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, _ := unanswered(t, is.m)
			k := owed.NewChecker(w.Registry)
			w.look(k)
			if is.does != nil {
				is.does(w, birch.ID)
			}
			w.look(k)
			w.wantNotices(amber.ID)
			for end := w.clock.Add(is.wait); w.clock.Before(end); {
				w.pass(time.Minute)
				w.look(k)
			}
			w.wantNotices(amber.ID, is.want...)
			w.once()
			w.wantNotices(amber.ID, is.want...)
		})
	}
	t.Run("a command", func(t *testing.T) {
		t.Parallel()
		w, amber, _, _ := unanswered(t, mail.Message{})
		w.pass(30 * time.Minute)
		w.once()
		w.wantNotices(amber.ID, unread)
	})
}

// What a client drops with a request that failed waits again, before other mail, and comes once
// more, until it is answered.
func TestWhatAClientDropsComesAgain(t *testing.T) {
	t.Parallel()
	w, amber, birch := expecting(t)
	var ids []string
	for _, text := range []string{"one", "two", "three"} {
		w.pass(time.Second)
		ids = append(ids, w.put(amber, "birch", mail.Message{Content: text}).ID)
		w.read(birch.ID)
		if text == "one" {
			w.pass(time.Second)
			w.answers(birch.ID)
		}
	}
	w.put(amber, "birch", mail.Message{Content: "four"})
	again := func(match func(inbox.ArchiveRecord) bool, want ...string) {
		t.Helper()
		_, err := sessions.PutBack(t.Context(), w.Registry, birch.ID, match)
		var got []string
		for _, m := range w.waiting(birch.ID) {
			got = append(got, m.Content)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("there wait %q, want %q: %v", got, want, err)
		}
	}
	three := func(r inbox.ArchiveRecord) bool { return r.Content != "two" }
	again(three, "three", "four") // its model has answered the first
	again(three, "three", "four")
	again(nil, "two", "three", "four")
	w.wantSaid(ids[1], sessions.Queued)
	w.pass(time.Second)
	w.read(birch.ID)
	w.wantSaid(ids[1], sessions.Handed)
	again(nil, "two", "three", "four") // dropped once more
	w.read(birch.ID)
	w.pass(time.Second)
	w.answers(birch.ID)
	for _, id := range ids {
		w.wantSaid(id, sessions.Read)
	}
	again(nil)
}

// Before and after the client has begun to report answers, "read" has the same form and the same
// time.
func TestReadHasOneForm(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	id := w.put(amber, "birch", mail.Message{Content: "x"}).ID
	w.pass(time.Second)
	w.read(birch.ID)
	handed := w.clock
	for i := range 2 {
		st, err := w.Status(t.Context(), id)
		if want := "read after " + format.Clock(handed, w.clock); err != nil || st.Became(w.clock) != want {
			t.Errorf("%d: it is %q, want %q: %v", i, st.Became(w.clock), want, err)
		}
		w.pass(time.Minute)
		if err := sessions.ExpectAnswers(w.Registry, birch.ID); err != nil {
			t.Fatal(err)
		}
		w.answers(birch.ID)
	}
}

// A message expires at its own time, and not when c2c notices it.
func TestStatusSaysWhenAMessageExpired(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	expires := w.clock.Add(time.Minute).Truncate(time.Microsecond)
	id := w.put(amber, "birch", mail.Message{Content: "x", ExpiresAt: mail.Seconds(expires)}).ID
	w.pass(time.Hour)
	w.once()
	st, err := w.Status(t.Context(), id)
	if err != nil || st.State != owed.Expired || !st.At.Equal(expires) || !strings.Contains(st.Sentence(), "expired at "+format.Clock(expires, w.clock)) {
		t.Errorf("it is %q since %v, want %v: %s, %v", st.State, st.At, expires, st.Sentence(), err)
	}
}

// What a session was handed and has not answered is read from its archive again only when the
// archive has changed, and not at all if it was handed more than a day before a process or a
// command first looks.
func TestWhatIsUnansweredIsReadOnce(t *testing.T) {
	t.Parallel()
	const unread = "maple has not read your message"
	// destroy makes the messages unreadable, so that they are known only to a process that has read
	// them before.
	destroy := func(w *world, sid string, at time.Time) {
		t.Helper()
		path := filepath.Join(w.Root(), "archive", sid+".jsonl")
		info, err := os.Stat(path)
		if err == nil && at.IsZero() {
			at = info.ModTime()
			err = os.WriteFile(path, bytes.Repeat([]byte("\n"), int(info.Size())), 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w, amber, birch, _ := unanswered(t, mail.Message{})
	k := owed.NewChecker(w.Registry)
	w.look(k)
	destroy(w, birch.ID, time.Time{})
	w.look(k)
	w.pass(30 * time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, unread)

	w, amber, birch, _ = unanswered(t, mail.Message{})
	k = owed.NewChecker(w.Registry)
	w.look(k)
	destroy(w, birch.ID, time.Time{})
	w.answers(birch.ID)
	w.pass(30 * time.Minute)
	w.look(k)
	w.wantNotices(amber.ID)

	w, amber, birch, _ = unanswered(t, mail.Message{})
	w.pass(30 * time.Minute)
	destroy(w, birch.ID, w.clock.Add(-25*time.Hour))
	w.once()
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID)
	destroy(w, birch.ID, w.clock.Add(-23*time.Hour))
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID, unread)
}

// A script may take the mail of a session that has ended. Its model has not seen that mail, and the
// next session of that name gets it.
func TestACommandThatTakesTheMailOfAnEndedSessionIsNoReader(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := unanswered(t, mail.Message{})
	id := w.put(amber, "maple", mail.Message{Content: "more"}).ID
	w.ends(31)
	l, err := w.box(birch.ID).Lease(t.Context(), "cli_poll", 1<<30)
	if err == nil {
		err = l.Ack(t.Context(), inbox.Handles(l.Messages)...)
	}
	st, serr := w.Status(t.Context(), id)
	if err != nil || serr != nil || st.State != sessions.Handed || !strings.Contains(strings.Join(st.Way, "; "), "by c2c poll-inbox, to whoever ran it, and its model has not answered since") {
		t.Errorf("%q, %q: %v, %v", st.State, st.Way, err, serr)
	}
	next := w.register("maple", callers.Caller{Client: "claude", ClientID: "second", PID: w.starts(32)})
	if msgs := w.waiting(next.ID); len(msgs) != 2 || msgs[1].ID != id {
		t.Errorf("there waits %+v", msgs)
	}
}

// Of a shell and of a client without hooks nobody reports answers, so what their command or tool
// has taken is read, for good.
func TestWhatACommandTakesIsReadAtOnce(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"cli_poll", "poll_inbox"} {
		w, amber, birch := pair(t)
		id := w.put(amber, "birch", mail.Message{TellAfter: 60}).ID
		l, err := w.box(birch.ID).Lease(t.Context(), by, 1<<30)
		if err == nil {
			err = l.Ack(t.Context(), inbox.Handles(l.Messages)...)
		}
		if err != nil {
			t.Fatal(err)
		}
		k := owed.NewChecker(w.Registry)
		for range 3 {
			w.look(k)
			w.pass(10 * time.Hour)
			w.once()
		}
		w.wantSaid(id, sessions.Read)
		w.ends(20)
		w.look(k)
		w.wantNotices(amber.ID)
	}
}
