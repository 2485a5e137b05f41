package watch

import (
	"context"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/serve/live"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// What came from a room is shown with the room's name, and its answer goes there: as a post, and as
// a message that names dana.
func TestARoomIsReadAndWrittenTo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := openRoot(t)
	var members []sessions.Session
	for _, alias := range []string{"dana", "birch"} {
		s, err := b.Register(ctx, callers.Caller{Explicit: alias}, alias)
		if err == nil {
			_, err = rooms.Join(ctx, b, s, "review", true)
		}
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, s)
	}
	dana, birch := members[0], members[1]
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	defer screen.Fini()
	screen.SetSize(100, 20)
	a := newApp(Config{Who: func(context.Context, *broker.Broker) (sessions.Session, error) { return dana, nil }}, screen)
	a.b, a.ctx = b, ctx
	last := func() mail.Message {
		t.Helper()
		r, err := rooms.StoreOf(b.Registry).Open("review")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		posts, err := r.Last(1, nil)
		if err != nil || len(posts) != 1 {
			t.Fatalf("%v, %v", posts, err)
		}
		return posts[0].Message()
	}
	write := func(text string) {
		typeInto(a, text)
		a.event(tcell.NewEventKey(tcell.KeyEnter, 0, 0), false)
		(<-a.results)()
		if !strings.HasPrefix(a.says, "stored for 1") || last().Content != text {
			t.Errorf("it says %q, and the last post is %+v", a.says, last())
		}
	}
	for _, to := range []string{"#review", "dana#review"} {
		if _, err := rooms.Publish(ctx, b, birch, rooms.Draft{Room: "review", Message: mail.Message{Content: "look, " + to}}); err != nil {
			t.Fatal(err)
		}
		m := last()
		what := live.Posted
		if m.To = to; to != "#review" {
			what = live.Stored
		}
		a.update(live.Update{Events: []live.Event{{What: what, Fingerprint: m.Fingerprint(), Message: m}}})
		a.draw()
		if text := strings.Join(rows(screen), "\n"); !strings.Contains(text, "birch (claimed) → "+to+" · ") || !strings.Contains(text, "look, "+to) {
			t.Errorf("the screen is\n%s", text)
		}
		press(a, "3") // a post to the room has no state, and its copy for a session has one
		if text, state := strings.Join(rows(screen), "\n"), "─ waits"; strings.Contains(text, state) != (what == live.Stored) {
			t.Errorf("%q in the timeline: %t\n%s", state, what != live.Stored, text)
		}
		press(a, "1")
		a.onList = false
		a.pane().selected = a.mails[len(a.mails)-1]
		a.reply()
		if write("an answer to " + to); last().InReplyTo != m.ID {
			t.Errorf("it answers %q, want %q", last().InReplyTo, m.ID)
		}
	}
	a.composeTo("#review")
	if write("hello all"); last().InReplyTo != "" {
		t.Errorf("it answers %q", last().InReplyTo)
	}
}
