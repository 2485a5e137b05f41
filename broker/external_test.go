package broker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func (w *world) outside(name string) sessions.Session {
	w.t.Helper()
	s, err := w.ExternalSession(w.t.Context(), name, sessions.ClientExternal)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestASenderOutsideIsASession(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"})
	ci := w.outside("ci")
	if again := w.outside("ci"); again.ID != ci.ID || ci.ID != "external-ci" || ci.Alias != "external-ci" || again.State != sessions.External {
		t.Errorf("%+v %+v", ci, again)
	}
	r, err := w.SendExternal(t.Context(), ci, mail.Message{To: "BIRCH", Content: "red"}, mail.Origin{ChatID: "42", Path: "/", Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	m := w.waiting(birch.ID)[0]
	o, ok := m.Origin()
	if !m.External || m.FromPerson || !ok || o.ChatID != "42" || m.TellAfter >= 0 {
		t.Errorf("%+v", m)
	}
	answer, err := w.Reply(t.Context(), birch, m, mail.Message{Content: "seen"})
	if err != nil || answer.Recipient != sessions.External || !strings.Contains(answer.Note, "/events") {
		t.Errorf("%+v %v", answer, err)
	}
	if got := w.waiting(ci.ID); len(got) != 1 || got[0].External || got[0].InReplyTo != r.ID {
		t.Errorf("%+v", got)
	}
	if st, err := w.Status(t.Context(), answer.ID); err != nil || st.State != sessions.Queued || !strings.Contains(st.Why, "is outside") {
		t.Errorf("%+v %v", st, err)
	}
}

func TestASenderOutsideIsNotSweptAndNotEverybody(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"})
	ci := w.outside("ci")
	if sent, skipped, err := w.SendAll(t.Context(), birch, mail.Message{Content: "hi"}); err != nil || len(sent) != 0 || len(skipped) != 1 || skipped[0].Reason != "outside" {
		t.Errorf("%+v %+v %v", sent, skipped, err)
	}
	w.clock = w.clock.Add(1000 * time.Hour)
	if swept, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil || len(swept.Sessions) != 0 {
		t.Errorf("%+v %v", swept, err)
	}
	if _, err := moves.TakeOver(t.Context(), w.Registry, ci.Alias, "birch", true, false); err == nil {
		t.Error("its mail was handed over")
	}
}

// A service that only signs has no token for GET /events. A session that answers the service is
// told that nobody reads the answer.
func TestAServiceThatSignsReadsNoAnswers(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"})
	says := func(client, want string) {
		t.Helper()
		hub, err := w.ExternalSession(t.Context(), "hub", client)
		if err != nil || hub.ID != "external-hub" || hub.Client != client {
			t.Fatalf("%+v, %v", hub, err)
		}
		r := w.put(birch, "external-hub", mail.Message{Content: "to " + client})
		st, err := w.Status(t.Context(), r.ID)
		if err != nil || !strings.Contains(st.Why, want) || !strings.Contains(r.Note, want) {
			t.Errorf("%+v, %+v, %v", st, r, err)
		}
	}
	says(sessions.ClientSigned, "nobody there gets the message")
	says(sessions.ClientDenied, "its key was taken away")
	says(sessions.ClientExternal, "GET /events") // it was allowed anew with a token
}

func TestNamesOfSenders(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"", "CI", "a b", "ü", "\u212ait", "../x", "external-x", strings.Repeat("x", 56), "-x", "a\x00"} {
		if s, err := w.ExternalSession(t.Context(), name, sessions.ClientExternal); err == nil {
			t.Errorf("%q is %s", name, s.ID)
		}
	}
	if s := w.outside(strings.Repeat("x", 55)); mail.CheckAlias(s.Alias) != nil {
		t.Error(s.Alias)
	}
}

// Two robots that answer each other are a storm, too.
func TestMailFromOutsideCountsAsAStorm(t *testing.T) {
	w := newWorldOf(t, broker.Config{Hops: 1})
	birch, bot := w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"}), w.outside("bot")
	last, held := "", false
	for range 12 {
		for _, pair := range [][2]sessions.Session{{bot, birch}, {birch, bot}} {
			r, err := w.Send(t.Context(), pair[0], mail.Message{To: pair[1].Alias, Content: "again", InReplyTo: last})
			if errors.Is(err, owed.ErrTooManyAnswers) || held {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			last, held = r.ID, r.Held
			w.read(pair[1].ID)
		}
	}
	t.Error("nobody was stopped")
}

// Whatever tells who calls: nobody here becomes a sender outside.
func isExternal(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), mail.ExternalPrefix)
}

func TestNobodyActsAsASenderOutside(t *testing.T) {
	w := newWorld(t)
	ci := w.outside("ci")
	person := &callers.User{UID: 7, Login: "pat", Terminal: true, Typing: true}
	for _, sid := range []string{ci.ID, "External-CI", "external-other"} {
		for _, c := range []callers.Caller{
			{Explicit: sid}, {Explicit: sid, User: person}, {PID: w.pid(10), Client: "claude", Getenv: env("C2C_MCP_SESSION_ID", sid)},
			{PID: w.pid(10), Client: "opencode", ClientID: "s1", Getenv: env("C2C_MCP_SESSION_ID", sid)}, {Start: sid, PID: w.pid(10), Client: "claude"},
			{User: person, Getenv: env("C2C_MCP_SESSION_ID", sid)},
		} {
			if s, err := w.Attach(t.Context(), c); err == nil && isExternal(s.ID) {
				t.Errorf("%+v is %s", c, s.ID)
			}
			if s, err := callers.Resolve(t.Context(), w.Registry, c); err == nil && isExternal(s.ID) {
				t.Errorf("%+v is %s", c, s.ID)
			}
		}
		if s, err := w.Register(t.Context(), callers.Caller{PID: w.pid(10), Client: "claude"}, sid); err == nil {
			t.Errorf("%s has the alias %s", s.ID, s.Alias)
		}
	}
	if s := w.attach(callers.Caller{PID: w.pid(20), Client: "external"}); isExternal(s.Alias) {
		t.Errorf("a client that calls itself so is %s", s.Alias)
	}
}
