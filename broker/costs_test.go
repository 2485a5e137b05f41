package broker_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions/callers"
	"c2c/wake"
)

func (w *world) costs(since time.Duration) broker.Costs {
	w.t.Helper()
	c, err := w.Costs(w.t.Context(), w.clock.Add(-since))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// by hands all mail of a session over, as another reader than the hook.
func (w *world) by(reader, sid string) (msgs []mail.Message) {
	w.t.Helper()
	l, err := w.box(sid).Lease(context.Background(), reader, 1<<30)
	if err == nil {
		err = l.Ack(context.Background(), inbox.Handles(l.Messages)...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Messages
}

// spent has mail of a day: birch got three messages of amber and one of coral, amber got one, and a
// message waits for each of them. One was handed over two days ago.
func spent(t *testing.T) (w *world, bytes map[string]int64) {
	t.Helper()
	w, amber, birch := pair(t)
	coral := w.register("coral", w.heir())
	w.put(amber, "birch", mail.Message{Content: "long ago"})
	w.read(birch.ID)
	w.pass(48 * time.Hour)

	bytes = map[string]int64{}
	w.put(amber, "birch", mail.Message{Content: "one"})
	w.put(amber, "birch", mail.Message{Content: "two"})
	w.put(coral, "birch", mail.Message{Content: "three"})
	w.pass(10 * time.Second)
	msgs := w.by("hook", birch.ID)
	bytes["amber birch"] = int64(len(mail.Preface(msgs) + "\n" + msgs[0].Envelope() + "\n" + msgs[1].Envelope()))
	bytes["coral birch"] = int64(len("\n" + msgs[2].Envelope()))
	w.put(amber, "birch", mail.Message{Content: "four"})
	w.pass(time.Hour)
	msgs = w.by(wake.ByServer, birch.ID)
	bytes["amber birch"] += int64(len(msgs[0].Envelope() + "\n"))

	w.put(birch, "amber", mail.Message{Content: "five"})
	msgs = w.by("poll_inbox", amber.ID)
	msgs[0].GuardHops, msgs[0].GuardChain = 0, ""
	text, err := msgs[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	bytes["birch amber"] = int64(len("[" + string(text) + "]"))

	w.put(birch, "amber", mail.Message{Content: "six"})
	w.put(amber, "birch", mail.Message{Content: "seven"})
	for _, ring := range []wake.Ring{
		{Method: wake.BySocket, Outcome: wake.Rang}, {Method: wake.BySocket, Outcome: wake.Rang}, {Method: wake.BySocket, Outcome: wake.Failed},
		{Outcome: wake.Filtered}, {Method: wake.BySocket, Outcome: wake.Coalesced},
	} {
		if err := w.Rang(t.Context(), amber.ID, ring); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(time.Minute)
	return w, bytes
}

func TestCostsCountMailBySessionAndByPair(t *testing.T) {
	t.Parallel()
	w, bytes := spent(t)
	oldest := w.clock.Add(-time.Minute).UTC()
	flow := func(handed int, bytes int64, waiting int, took owed.Latency) (f broker.Flow) {
		f.Handed, f.Context, f.Waiting, f.Took = handed, bytes, waiting, took
		if waiting > 0 {
			f.Oldest = oldest
		}
		return f
	}
	c := w.costs(24 * time.Hour)
	if want := []broker.PairCosts{
		{From: "amber", To: "birch", Flow: flow(3, bytes["amber birch"], 1, owed.Latency{P50: 10, P95: 3600, Max: 3600})},
		{From: "birch", To: "amber", Flow: flow(1, bytes["birch amber"], 1, owed.Latency{})},
		{From: "coral", To: "birch", Flow: flow(1, bytes["coral birch"], 0, owed.Latency{P50: 10, P95: 10, Max: 10})},
	}; !reflect.DeepEqual(c.Pairs, want) {
		t.Errorf("pairs %+v\nwant  %+v", c.Pairs, want)
	}
	rings := []broker.Rings{{Method: wake.BySocket, Outcome: wake.Failed, Count: 1}, {Method: wake.BySocket, Outcome: wake.Rang, Count: 2}}
	birch := flow(4, bytes["amber birch"]+bytes["coral birch"], 1, owed.Latency{P50: 10, P95: 3600, Max: 3600})
	var sids []string
	for i := range c.Sessions {
		sids = append(sids, c.Sessions[i].SID)
		c.Sessions[i].SID = ""
	}
	if want := []broker.SessionCosts{
		{Alias: "birch", Sent: 2, Flow: birch, Rings: []broker.Rings{}},
		{Alias: "amber", Sent: 4, Flow: flow(1, bytes["birch amber"], 1, owed.Latency{}), Rings: rings},
		{Alias: "coral", Sent: 1, Rings: []broker.Rings{}},
	}; !reflect.DeepEqual(c.Sessions, want) || slices.Contains(sids, "") {
		t.Errorf("sessions %+v\nwant     %+v, ids %q", c.Sessions, want, sids)
	}
	if c.Total.Handed != 5 || c.Total.Waiting != 2 || !c.Total.Oldest.Equal(oldest) || !reflect.DeepEqual(c.Rings, rings) || !c.RingsSince.Equal(c.Since) {
		t.Errorf("in all %+v", c)
	}
	if c := w.costs(72 * time.Hour); c.Total.Handed != 6 {
		t.Errorf("in three days %+v", c.Total)
	}
	if c := w.costs(time.Second); c.Total.Handed != 0 || len(c.Rings) != 0 || c.Total.Waiting != 2 {
		t.Errorf("in a second %+v", c)
	}
}

// A person and a program outside read with no model.
func TestOnlyMailToModelsGoesIntoContexts(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	dana := w.attach(callers.Caller{User: &callers.User{UID: 7, Login: "pat", Terminal: true}})
	w.put(amber, dana.Alias, mail.Message{Content: "one"})
	w.by("cli_poll", dana.ID)
	if c := w.costs(time.Hour); c.Total.Handed != 1 || c.Total.Context != 0 {
		t.Errorf("%+v", c.Total)
	}
}

// Older lines of broker.log are gone.
func TestCostsSayHowFarBackTheRingsAreKnown(t *testing.T) {
	t.Parallel()
	w, _, _ := pair(t)
	began := w.clock.Add(-time.Hour)
	text := `{"ts":` + seconds(began) + `,"event":"dm_enqueue"}` + "\n" +
		`{"ts":` + seconds(began.Add(time.Minute)) + `,"event":"ring","session_id":"gone","method":"socket","outcome":"rang"}` + "\n" + "no line\n" + `{"ts":1` // the disk was full
	if err := os.WriteFile(filepath.Join(w.Root(), "broker.log.5"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.costs(24 * time.Hour)
	if !c.RingsSince.Equal(began) || len(c.Rings) != 1 || c.Sessions[0].Alias != "gone" {
		t.Errorf("%+v", c)
	}
}

func TestPrometheusReadsTheCosts(t *testing.T) {
	t.Parallel()
	w, _ := spent(t)
	st, err := w.ReadStats(t.Context(), w.clock.Add(-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	st.Mail.Pairs[0].From = "odd \"name\"\\\nwith lines\xff"
	st.Mail.Sessions[1].Tokens.Input = 84_000
	other := st
	other.Root = "/other"
	var text bytes.Buffer
	if err := broker.Prometheus(&text, st, other); err != nil {
		t.Fatal(err)
	}
	wantExposition(t, text.String())
	root := `{root="` + w.Root() + `",`
	for _, want := range []string{
		`c2c_mail_handed` + root + `from="odd \"name\"\\\nwith lines?",to="birch"} 3`,
		`c2c_mail_waiting` + root + `from="birch",to="amber"} 1`,
		`c2c_mail_handed_after_seconds` + root + `to="birch",quantile="0.95"} 3600`,
		`c2c_session_input_tokens` + root + `alias="amber"} 84000`,
		`c2c_rings` + root + `alias="amber",method="socket",outcome="rang"} 2`,
		`c2c_obligations` + root + `state="open"} 0`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("no line %s in\n%s", want, &text)
		}
	}
}

func seconds(at time.Time) string {
	text, _ := mail.Message{TS: mail.Seconds(at)}.MarshalJSON()
	_, rest, _ := strings.Cut(string(text), `"ts":`)
	number, _, _ := strings.Cut(strings.TrimSuffix(rest, "}"), ",")
	return number
}
