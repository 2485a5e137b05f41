package watch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/serve/live"
	"c2c/sessions"
	"c2c/wake"
)

// The list has as many facts as there is room for, and the line of another project says what is there.
func TestTheListGrowsWithTheScreen(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 9, 80, 24)
	a.own[0].Role, a.own[0].Claims, a.own[0].Count = "reviews the parser", []string{"main.go"}, 3
	a.root, a.name = "/r/shop", "~/shop (h.org/shop)"
	a.around = Around{Projects: []Project{{"~/api (h.org/api)", "/r/api", 2, 1, 4}, {"~/shop (h.org/shop)", "/r/shop", 5, 0, 0}}, Machines: 2,
		Remote: []sessions.Listed{{Alias: "oak@devbox", State: sessions.Remote, Now: sessions.Now{Does: sessions.Busy}}}, Rooms: map[string][]string{"id-0": {"review", "ops"}}}
	a.order(a.own)
	for size, want := range map[[2]int][]string{
		{80, 24}:  {"~/shop · 10 sessions", "! 1 needs you (1 elsewhere)", "· amber-0", "» oak@devbox", "! ~/api (h.org/api) 4 mail"},
		{200, 60}: {"~/shop (h.org/shop) · 10 sessions", "2 machines", "ROLE", "ROOMS", "CLAIMS", "#review #ops", "! ~/api (h.org/api)"},
	} {
		screen.SetSize(size[0], size[1])
		a.draw()
		for _, w := range want {
			if !strings.Contains(shows(screen), w) {
				t.Errorf("%v: no %q in\n%s", size, w, shows(screen))
			}
		}
	}
	if text := shows(screen); strings.Contains(text, "\n▸ ~/shop") {
		t.Errorf("the project that is shown is listed, too:\n%s", text)
	}
}

// What the keys 2 and 3 show can be read, answered and asked about like mail.
func TestWhoWaitsForWhomIsSeen(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 9, 140, 24)
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	a.view = waiting
	a.setWaits([]broker.Obligation{
		{ID: "m-3", Kind: "task", From: "dana", To: "amber-0", SentAt: ago(time.Minute), Due: time.Now().Add(4*time.Hour + time.Minute), Words: "build it"},
		{ID: "m-1", Kind: "question", From: "birch-1", To: "cedar-2", SentAt: ago(3 * time.Hour), Due: ago(2 * time.Hour), Words: "is it green?", Why: "cedar-2 is busy"},
		{ID: "m-4", Kind: "task", From: "Birch-1", To: "cedar-2", SentAt: ago(time.Hour), Due: time.Now().Add(time.Hour)},
		{ID: "m-2", Kind: "review", From: "cedar-2", To: "birch-1", SentAt: ago(2 * time.Hour), Due: time.Now().Add(time.Hour)},
	})
	a.onList = false
	a.draw()
	text := rows(screen)
	for i, want := range []string{"who waits for whom", "↻     3 h | birch-1 → cedar-2 | question | late 2 h | and 1 more | is it green? | cedar-2 is busy", "↻     2 h | cedar-2 → birch-1 | review", "1 min | dana → amber-0 | task | due in 4 h | build it"} {
		for part := range strings.SplitSeq(strings.ReplaceAll(want, " - ", " "), " | ") {
			if squeezed := strings.Join(strings.Fields(text[i+1]), " "); !strings.Contains(squeezed, strings.Join(strings.Fields(part), " ")) {
				t.Errorf("line %d is %q, want %q", i, squeezed, part)
			}
		}
	}
	if m := a.pane().message(); m == nil || m.ID != "m-1" || !strings.Contains(shows(screen), "is it green? · cedar-2 is busy") {
		t.Errorf("the first line is %+v:\n%s", m, shows(screen))
	}
	a.setWaits(nil)
	if a.draw(); !strings.Contains(shows(screen), "nobody waits for an answer") || a.pane().message() != nil {
		t.Errorf("all are answered:\n%s", shows(screen))
	}
}

func TestTheTimelineSaysHowFarAMessageHasCome(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 3, 160, 24)
	start := time.Now().Add(-time.Hour)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	message := func(n byte, from, to, answers string, sent time.Time) live.Event {
		m := mail.Message{ID: fmt.Sprint("m-", n), From: from, To: to, Content: "text " + fmt.Sprint(n), InReplyTo: answers, TS: mail.Seconds(sent)}
		return live.Event{What: live.Stored, SessionID: "id-" + to[len(to)-1:], Fingerprint: mail.Fingerprint{n}, Message: m}
	}
	for _, e := range []live.Event{
		message(1, "amber-0", "birch-1", "", start),
		{What: live.Rung, At: at(2 * time.Second), SessionID: "id-1", Ring: wake.Ring{Outcome: wake.Rang}},
		{What: live.Archived, State: sessions.Handed, Awaits: true, At: at(32 * time.Second), SessionID: "id-1", Fingerprint: mail.Fingerprint{1}},
		{What: live.Answers, At: at(92 * time.Second), SessionID: "id-1"},
		message(2, "birch-1", "amber-0", "m-1", at(5*time.Minute)),
		message(3, "amber-0", "cedar-2", "", at(6*time.Minute)),
		{What: live.Dead, At: at(7 * time.Minute), SessionID: "id-2", Fingerprint: mail.Fingerprint{3}, Why: "swept"},
	} {
		a.update(live.Update{Events: []live.Event{e}})
	}
	press(a, "3")
	for _, want := range []string{"amber-0 → birch-1  sent ─2s─ rung ─30s─ handed ─1min─ read ─3min─ answered  text 1", "↳ birch-1 → amber-0  sent ─ waits 55min  text 2", "sent ─1min─ dead  text 3", "timeline of all mail"} {
		if !strings.Contains(shows(screen), want) {
			t.Errorf("no %q in\n%s", want, shows(screen))
		}
	}
	styles := map[tcell.Style]bool{}
	for _, state := range []string{sessions.Queued, sessions.Rung, sessions.Handed, sessions.Read, sessions.Dead} {
		styles[stateStyles[state]] = true
	}
	if len(styles) != 5 || styleOf(t, screen, "handed") != stateStyles[sessions.Handed] || styleOf(t, screen, "dead") != stateStyles[sessions.Dead] {
		t.Error("states look alike")
	}
}

// A session that was rung before the screen began is not shown as if nobody had rung it.
func TestWhatWasRungBeforeIsShownAsRung(t *testing.T) {
	t.Parallel()
	a, _ := full(t, 0, 80, 24)
	a.own = nil
	sent := time.Now().Add(-time.Minute)
	a.update(live.Update{
		Sessions: []live.Session{{Listed: sessions.Listed{ID: "b", Alias: "birch", LastRing: wake.Ring{Outcome: wake.Rang, At: sent.Add(time.Second)}}}},
		Events:   []live.Event{{What: live.Stored, SessionID: "b", Fingerprint: mail.Fingerprint{1}, Message: mail.Message{From: "amber", To: "birch", TS: mail.Seconds(sent)}}},
	})
	if state := a.mails[0].fate.State; state != sessions.Rung {
		t.Errorf("it is %s", state)
	}
}

// Enter goes where the picked line leads: into the terminal of a session, or to another project.
func TestEnterGoesToATerminalOrAProject(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 3, 80, 24)
	b, other := openRoot(t), openRoot(t)
	went := ""
	a.ctx, a.b, a.leave, a.root = t.Context(), b, func() {}, b.Root()
	a.cfg = Config{
		Show: func(_ context.Context, _ *broker.Broker, s sessions.Listed) error { went = s.Alias; return nil },
		Open: func(_ context.Context, root string) (*broker.Broker, error) {
			return broker.Open(broker.Config{Root: root})
		},
		Name: func(root string) string { return map[string]string{b.Root(): "~/shop", other.Root(): "~/api"}[root] },
		Look: func(context.Context, *broker.Broker) (Around, error) {
			return Around{Projects: []Project{{"~/api", other.Root(), 1, 0, 0}, {"~/shop", b.Root(), 3, 0, 0}}}, nil
		},
	}
	a.around, _ = a.cfg.Look(t.Context(), b)
	a.order(a.own)
	press(a, tcell.KeyDown, tcell.KeyEnter)
	(<-a.results)()
	if a.draw(); went != "amber-0" || !strings.Contains(shows(screen), "the terminal of amber-0 is in front") {
		t.Errorf("went to %q:\n%s", went, shows(screen))
	}
	press(a, tcell.KeyEnd, tcell.KeyEnter)
	for a.root != other.Root() {
		(<-a.results)()
	}
	if a.draw(); !strings.HasPrefix(rows(screen)[0], " ~/api · 0 sessions") || !strings.Contains(shows(screen), "▸ ~/shop") {
		t.Errorf("the other project:\n%s", shows(screen))
	}
	a.leave()
}
