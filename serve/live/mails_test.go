package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// A ring tells of what had been sent by then and may be handed over.
func TestARingIsForWhatItCanTellOf(t *testing.T) {
	t.Parallel()
	sent, ring := time.Unix(100, 0), time.Unix(200, 0)
	for name, c := range map[string]struct {
		change func(m *mail.Message)
		want   string
	}{
		"waits":          {func(*mail.Message) {}, sessions.Rung},
		"wakes nobody":   {func(m *mail.Message) { m.Deferrable = true }, sessions.Queued},
		"sent behind it": {func(m *mail.Message) { m.TS = mail.Seconds(ring) + 1 }, sessions.Queued},
		"held":           {func(m *mail.Message) { m.Held, m.NotBefore = "a", m.TS+600 }, sessions.Queued},
		"slowed":         {func(m *mail.Message) { m.NotBefore = mail.Seconds(ring) + 1 }, sessions.Queued},
		"slowed before":  {func(m *mail.Message) { m.NotBefore = mail.Seconds(ring) - 1 }, sessions.Rung},
	} {
		m := mail.Message{From: "amber", To: "birch", ID: name, TS: mail.Seconds(sent)}
		c.change(&m)
		mails := NewMails(10, 100)
		mails.Add([]Event{{What: Stored, SessionID: "b", Fingerprint: m.Fingerprint(), Message: m}, {What: Rung, SessionID: "b", At: ring}})
		if got := mails.All()[0].State; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// letter is the event that a message has come.
func letter(id, content string) Event {
	m := mail.Message{From: "amber", To: "birch", ID: id, Content: content}
	return Event{What: Stored, SessionID: "b", Fingerprint: m.Fingerprint(), Message: m}
}

func TestTheNewestMessagesAreKeptAndOfEachTheBeginning(t *testing.T) {
	t.Parallel()
	mails := NewMails(2, 5)
	first := letter("m-1", "日本")
	first.Message.Extra = []mail.Field{{Name: "x", Value: []byte(`"large"`)}}
	changed := mails.Add([]Event{first, letter("m-2", "12345"), {What: Archived, State: sessions.Read, Fingerprint: first.Fingerprint, By: "test"}})
	var got []string
	for _, m := range changed {
		got = append(got, fmt.Sprintf("%s%s %d %s %d", m.ID, m.Content, m.Cut, m.State, len(m.Extra)))
	}
	if want := []string{"m-1日 6 read 0", "m-212345 0 queued 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	mails.Add([]Event{letter("m-3", "")})
	if all := mails.All(); len(all) != 2 || all[0].ID != "m-2" || mails.Known(first.Fingerprint) != nil {
		t.Errorf("%+v", all)
	}
	if changed := mails.Add([]Event{{What: Archived, State: sessions.Read, Fingerprint: first.Fingerprint}}); len(changed) > 0 {
		t.Errorf("%+v", changed[0])
	}
}

func TestABurstOfMoreThanIsKeptIsToldWhole(t *testing.T) {
	t.Parallel()
	mails := NewMails(3, 5)
	var events []Event
	for i := range 10 {
		events = append(events, letter(strings.Repeat("m", i+1), ""))
	}
	if changed := mails.Add(events); len(changed) != 10 || len(mails.All()) != 3 || len(mails.byKey) != 3 {
		t.Errorf("%d changed, %d and %d kept", len(changed), len(mails.All()), len(mails.byKey))
	}
}

// A message that is read has the time of an answer. If the answer came before anybody looked, an
// earlier one may have read it.
func TestReadHasTheTimeOfTheAnswer(t *testing.T) {
	t.Parallel()
	handed, answer := time.Unix(100, 0), time.Unix(112, 0)
	for name, c := range map[string]struct {
		events []Event
		after  time.Time
		leased time.Time
	}{
		"looked at all along": {[]Event{{What: Archived, State: sessions.Handed, Awaits: true, At: handed}, {What: Answers, At: answer}}, time.Time{}, handed},
		"looked later":        {[]Event{{What: Archived, State: sessions.Read, Answered: answer, At: handed}}, handed, time.Time{}},
	} {
		mails, first := NewMails(10, 100), letter("m-1", "")
		mails.Add([]Event{first})
		for _, e := range c.events {
			e.SessionID, e.Fingerprint = "b", first.Fingerprint
			mails.Add([]Event{e})
		}
		if m := mails.All()[0]; m.State != sessions.Read || !m.At.Equal(answer) || !m.HandedAt.Equal(c.after) || !m.Leased.Equal(c.leased) {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
