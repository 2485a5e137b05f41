package broker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
)

func (w *world) outside(name string) Session {
	w.t.Helper()
	s, err := w.Outside(w.t.Context(), name, ClientExternal)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestASenderOutsideIsASession(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", Caller{PID: 10, Client: "gem"})
	ci := w.outside("ci")
	if again := w.outside("ci"); again.ID != ci.ID || ci.ID != "external-ci" || ci.Alias != "external-ci" || again.State != External {
		t.Errorf("%+v %+v", ci, again)
	}
	r, err := w.SendOutside(t.Context(), ci, inbox.Message{To: "BIRCH", Content: "red"}, Outside{ChatID: "42", Path: "/", Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	m := w.waiting(birch.ID)[0]
	o, ok := m.Outside()
	if !m.External || m.FromPerson || !ok || o.ChatID != "42" || m.TellAfter >= 0 {
		t.Errorf("%+v", m)
	}
	answer, err := w.Reply(t.Context(), birch, m, inbox.Message{Content: "seen"})
	if err != nil || answer.Recipient != External || !strings.Contains(answer.Note, "/events") {
		t.Errorf("%+v %v", answer, err)
	}
	if got := w.waiting(ci.ID); len(got) != 1 || got[0].External || got[0].InReplyTo != r.ID {
		t.Errorf("%+v", got)
	}
	if st, err := w.Status(t.Context(), answer.ID); err != nil || st.State != Queued || !strings.Contains(st.Why, "is outside") {
		t.Errorf("%+v %v", st, err)
	}
}

// Whatever tells who calls: nobody here becomes a sender outside.
func TestNobodyActsAsASenderOutside(t *testing.T) {
	w := newWorld(t)
	ci := w.outside("ci")
	person := &User{UID: 7, Login: "pat", Terminal: true, Typing: true}
	for _, sid := range []string{ci.ID, "External-CI", "external-other"} {
		for _, c := range []Caller{
			{Explicit: sid}, {Explicit: sid, User: person}, {PID: 10, Client: "claude", Getenv: env("C2C_MCP_SESSION_ID", sid)},
			{PID: 10, Client: "opencode", ClientID: "s1", Getenv: env("C2C_MCP_SESSION_ID", sid)}, {Start: sid, PID: 10, Client: "claude"},
			{User: person, Getenv: env("C2C_MCP_SESSION_ID", sid)},
		} {
			if s, err := w.Attach(t.Context(), c); err == nil && isExternalID(s.ID) {
				t.Errorf("%+v is %s", c, s.ID)
			}
			if s, err := w.Resolve(t.Context(), c); err == nil && isExternalID(s.ID) {
				t.Errorf("%+v is %s", c, s.ID)
			}
		}
		if s, err := w.Register(t.Context(), Caller{PID: 10, Client: "claude"}, sid); err == nil {
			t.Errorf("%s has the alias %s", s.ID, s.Alias)
		}
	}
	if s := w.attach(Caller{PID: 20, Client: "external"}); isExternalID(s.Alias) {
		t.Errorf("a client that calls itself so is %s", s.Alias)
	}
}

func TestASenderOutsideIsNotSweptAndNotEverybody(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", Caller{PID: 10, Client: "gem"})
	ci := w.outside("ci")
	if sent, skipped, err := w.SendAll(t.Context(), birch, inbox.Message{Content: "hi"}); err != nil || len(sent) != 0 || len(skipped) != 1 || skipped[0].Reason != "outside" {
		t.Errorf("%+v %+v %v", sent, skipped, err)
	}
	w.clock = w.clock.Add(1000 * time.Hour)
	if swept, err := w.Sweep(t.Context(), time.Hour); err != nil || len(swept.Sessions) != 0 {
		t.Errorf("%+v %v", swept, err)
	}
	if _, err := w.Takeover(t.Context(), ci.Alias, "birch", true, false); err == nil {
		t.Error("its mail was handed over")
	}
}

// A service that only signs has no token for GET /events: who answers it is told that nobody reads that.
func TestAServiceThatSignsReadsNoAnswers(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", Caller{PID: 10, Client: "gem"})
	says := func(client, want string) {
		t.Helper()
		hub, err := w.Outside(t.Context(), "hub", client)
		if err != nil || hub.ID != "external-hub" || hub.Client != client {
			t.Fatalf("%+v, %v", hub, err)
		}
		r := w.put(birch, "external-hub", inbox.Message{Content: "to " + client})
		st, err := w.Status(t.Context(), r.ID)
		if err != nil || !strings.Contains(st.Why, want) || !strings.Contains(r.Note, want) {
			t.Errorf("%+v, %+v, %v", st, r, err)
		}
	}
	says(ClientSigned, "nobody there gets the message")
	says(ClientDenied, "its key was taken away")
	says(ClientExternal, "GET /events") // it was allowed anew with a token
}

func TestNamesOfSenders(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"", "CI", "a b", "ü", "\u212ait", "../x", "external-x", strings.Repeat("x", 56), "-x", "a\x00"} {
		if s, err := w.Outside(t.Context(), name, ClientExternal); err == nil {
			t.Errorf("%q is %s", name, s.ID)
		}
	}
	if s := w.outside(strings.Repeat("x", 55)); inbox.CheckAlias(s.Alias) != nil {
		t.Error(s.Alias)
	}
}

// Two robots that answer each other are a storm, too.
func TestMailFromOutsideCountsAsAStorm(t *testing.T) {
	w := newWorld(t)
	w.storm = StormLimits{1}
	birch, bot := w.register("birch", Caller{PID: 10, Client: "gem"}), w.outside("bot")
	last, held := "", false
	for range 12 {
		for _, pair := range [][2]Session{{bot, birch}, {birch, bot}} {
			r, err := w.Send(t.Context(), pair[0], inbox.Message{To: pair[1].Alias, Content: "again", InReplyTo: last})
			if errors.Is(err, ErrStorm) || held {
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
