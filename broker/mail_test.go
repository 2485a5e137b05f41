package broker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// bodies shows mail, each with its state.
func bodies(all []broker.Mail) string {
	var words []string
	for _, m := range all {
		words = append(words, m.Content+" "+m.Status.State)
	}
	return strings.Join(words, ", ")
}

// sends sends a message a second later than the one before.
func (w *world) sends(from sessions.Session, m mail.Message) string {
	w.t.Helper()
	w.clock = w.clock.Add(time.Second)
	r, err := w.Send(w.t.Context(), from, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

func TestTheOutboxTellsWhatBecameOfEach(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10), Client: "claude"}), w.register("birch", callers.Caller{PID: w.pid(20)})
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	w.sends(amber, mail.Message{To: "birch", Content: "one"})
	w.sends(birch, mail.Message{To: "amber", Content: "of birch, that names \"amber\""})
	w.read(birch.ID)
	amber = w.register("amber-two", callers.Caller{PID: w.pid(10), Client: "claude"})
	w.clock = w.clock.Add(time.Second)
	w.register("amber", callers.Caller{Explicit: "other"})
	w.sends(amber, mail.Message{To: "cedar", Content: "two"})
	w.sends(cedar, mail.Message{To: "birch", Content: "of cedar"})
	w.sends(amber, mail.Message{To: "birch", Content: "three", ID: "job-3"})
	for limit, want := range map[int]string{9: "three queued, two queued, one read", 2: "three queued, two queued"} {
		if all, err := w.Outbox(t.Context(), amber, limit); err != nil || bodies(all) != want {
			t.Errorf("at most %d: %s, %v; want %s", limit, bodies(all), err, want)
		}
	}
	text, err := broker.Mail{Message: mail.Message{From: "a", To: "b", Content: "c", TS: 1}, Status: broker.MessageStatus{State: sessions.Read, By: "hook", At: time.Unix(2, 0).UTC()}}.MarshalJSON()
	if want := `{"from_alias":"a","to_alias":"b","content":"c","ts":1.0,"state":"read","at":"1970-01-01T00:00:02Z","by":"hook"}`; err != nil || string(text) != want {
		t.Errorf("JSON %s, %v", text, err)
	}
}

func TestAReaderWithAnOddNameBreaksNoJSON(t *testing.T) {
	const odd = "x\x1b[31m\a\"é\U000e0041"
	text, err := json.Marshal([]broker.Mail{{Message: mail.Message{From: "a", To: "b", Content: "c", TS: 1}, Status: broker.MessageStatus{State: sessions.Read, By: odd, At: time.Unix(2, 0).UTC()}}})
	var got []struct{ By string }
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || got[0].By != odd {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAMailboxThatCannotBeReadHidesNoOther(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{PID: w.pid(20), Explicit: "birch"})
	w.register("cedar", callers.Caller{PID: w.pid(30)})
	w.sends(amber, mail.Message{To: "cedar", Content: "one"})
	if err := os.Mkdir(filepath.Join(w.Root(), "birch.inbox.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Outbox(t.Context(), amber, 9); err == nil || bodies(all) != "one queued" {
		t.Errorf("%s, %v", bodies(all), err)
	}
}

func TestASearchFindsWhatTheCallerMaySee(t *testing.T) {
	w := newWorld(t)
	amber, birch, cedar := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)}), w.register("cedar", callers.Caller{PID: w.pid(30)})
	w.sends(amber, mail.Message{To: "birch", Content: "The Build is green"})
	w.read(birch.ID)
	w.sends(birch, mail.Message{To: "amber", Content: "which build?"})
	w.sends(birch, mail.Message{To: "cedar", Content: "a build that is Ärger"})
	claimed := cedar
	claimed.State, claimed.ID, claimed.KnownBy = sessions.Person, "person-1", mail.ByClaim
	person := claimed
	person.KnownBy = mail.ByPerson
	for _, c := range []struct {
		who   sessions.Session
		words []string
		want  string
	}{
		{amber, []string{"BUILD"}, "which build? queued, The Build is green read"},
		{amber, []string{"build green"}, "The Build is green read"},
		{cedar, []string{"build"}, "a build that is Ärger queued"},
		{cedar, []string{"ärger"}, "a build that is Ärger queued"},
		{birch, []string{"cedar", "build"}, "a build that is Ärger queued"},
		{cedar, []string{"green"}, ""},
		{claimed, []string{"build"}, ""},
		{person, []string{"build"}, "a build that is Ärger queued, which build? queued, The Build is green read"},
	} {
		if all, err := w.Search(t.Context(), c.who, c.words, 9); err != nil || bodies(all) != c.want {
			t.Errorf("%s looks for %q: %s, %v; want %s", c.who.Alias, c.words, bodies(all), err, c.want)
		}
	}
}

func TestAThreadIsWholeFromEachOfItsMessages(t *testing.T) {
	w := newWorld(t)
	amber, birch, cedar := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)}), w.register("cedar", callers.Caller{PID: w.pid(30)})
	one := w.sends(amber, mail.Message{To: "birch", Content: "one"})
	w.read(birch.ID)
	two := w.sends(birch, mail.Message{To: "cedar", Content: "two", InReplyTo: one})
	other := w.sends(birch, mail.Message{To: "cedar", Content: "another"})
	three := w.sends(cedar, mail.Message{To: "amber", Content: "three", InReplyTo: two})
	four := w.sends(amber, mail.Message{To: "birch", Content: "four", InReplyTo: one})
	for _, id := range []string{one, two, three, four} {
		all, more, err := w.Thread(t.Context(), mail.ShortID(id))
		if want := "one read, two queued, three queued, four queued"; err != nil || more || bodies(all) != want {
			t.Errorf("%s, %v, %v", bodies(all), more, err)
		}
	}
	if all, _, err := w.Thread(t.Context(), other); err != nil || bodies(all) != "another queued" {
		t.Errorf("%s, %v", bodies(all), err)
	}
	if _, _, err := w.Thread(t.Context(), "01890a5d-ac96-774b-bcce-b302099a8057"); !errors.Is(err, broker.ErrNoMessage) {
		t.Errorf("of nobody: %v", err)
	}
}

func TestACircleOfAnswersAndACrowdOfThemEnd(t *testing.T) {
	w := newWorld(t)
	w.register("birch", callers.Caller{PID: w.pid(20), Explicit: "birch"})
	var file strings.Builder
	for i := range maxThread + 5 {
		fmt.Fprintf(&file, `,{"from_alias":"x","to_alias":"birch","content":"c","ts":%d,"message_id":"m-%d","in_reply_to":"m-0"}`, i, i)
	}
	circle := `{"from_alias":"x","to_alias":"birch","content":"a","ts":1,"message_id":"a","in_reply_to":"b"},
		{"from_alias":"x","to_alias":"birch","content":"b","ts":2,"message_id":"b","in_reply_to":"a"}`
	if err := w.Dir().Write("birch.inbox.json", []byte("["+circle+file.String()+"]")); err != nil {
		t.Fatal(err)
	}
	if all, more, err := w.Thread(t.Context(), "a"); err != nil || more || bodies(all) != "a queued, b queued" {
		t.Errorf("a circle: %s, %v, %v", bodies(all), more, err)
	}
	if all, more, err := w.Thread(t.Context(), "m-3"); err != nil || !more || len(all) != maxThread {
		t.Errorf("a crowd: %d, %v, %v", len(all), more, err)
	}
}

func TestTheOutboxHasWhatWasSentUnderTheAliasInAnotherCase(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.sends(amber, mail.Message{To: "birch", Content: "one"})
	amber = w.register("Amber", callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	if all, err := w.Outbox(t.Context(), amber, 9); err != nil || bodies(all) != "one queued" {
		t.Errorf("%s, %v", bodies(all), err)
	}
}
