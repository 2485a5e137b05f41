package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/broker/live"
	"c2c/inbox"
)

// newApp is a screen in memory, with sessions and mail that are as bad as others may make them.
func newApp(t *testing.T) (*app, tcell.SimulationScreen) {
	t.Helper()
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(screen.Fini)
	a := &app{screen: screen, byTrace: map[inbox.Trace]*mail{}, onList: true}
	var u live.Update
	for i, body := range []string{"", "short", strings.Repeat("x", 300<<10), strings.Repeat("日本", 500), "a" + strings.Repeat("\u0301", 5000),
		strings.Repeat("word ", 200), "\x1b[2J\x1b]0;title\x07\r\n\t\u202e\x9b31m\xff", strings.Repeat("\n", 50) + "end", "👩‍💻👨‍👩‍👧‍👦 🇩🇪 ⚠️ e\u0301"} {
		alias := strings.Repeat("n", 1+i*9)
		u.Sessions = append(u.Sessions, live.Session{Listed: broker.Listed{ID: fmt.Sprint(i), Alias: alias, Count: i, Quiet: i%2 == 0}})
		u.Events = append(u.Events, live.Event{What: live.Stored, SessionID: fmt.Sprint(i), Trace: inbox.Trace{byte(i)},
			Message: inbox.Message{From: alias + "\n", To: "amber\x1b[31m", Content: body, ID: fmt.Sprint("m-", i), InReplyTo: "x\n"}})
	}
	a.update(u)
	return a, screen
}

func TestNoSizeAndNoKeyBreaksTheScreen(t *testing.T) {
	t.Parallel()
	a, screen := newApp(t)
	keys := []*tcell.EventKey{}
	for _, r := range "jjkj\tjjkG/ab?c" {
		keys = append(keys, tcell.NewEventKey(tcell.KeyRune, r, 0))
	}
	for _, k := range []tcell.Key{tcell.KeyTab, tcell.KeyPgUp, tcell.KeyUp, tcell.KeyHome, tcell.KeyPgDn, tcell.KeyEnd, tcell.KeyEscape, tcell.KeyEscape} {
		keys = append(keys, tcell.NewEventKey(k, 0, 0))
	}
	for w := 1; w < 130; w += 17 {
		for h := 1; h < 40; h += 5 {
			screen.SetSize(w, h)
			for _, k := range keys {
				a.event(k, false)
				a.draw()
				a.event(tcell.NewEventMouse(w/2, h/2, tcell.WheelDown, 0), false)
				a.draw()
			}
		}
	}
}

func TestNothingOfABodySteersTheTerminal(t *testing.T) {
	t.Parallel()
	a, screen := newApp(t)
	screen.SetSize(120, 60)
	a.draw()
	all, _, _ := screen.GetContents()
	for _, c := range all {
		for _, r := range c.Runes {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200d {
				t.Errorf("%U is on the screen", r)
			}
		}
	}
}

func TestLinesAreAsWideAsTheyMayBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"one two three":              "one two|three",
		"abcdefghijklmno":            "abcdefgh|ijklmno",
		"日本語日本語":                     "日本語日|本語",
		"a 日本語日本語":                   "a|日本語日|本語",
		"first\n\n  indented text\n": "first|||indented|text",
	} {
		if got := strings.Join(wrap(text, 8), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"short": "short", "exactly8": "exactly8", "more than 8": "more th…", "日本語日本": "日本語…"} {
		if got := cut(text, 8); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What came between the last drawing and the key counts as read by nobody.
func TestOnlyMailThatTheScreenHasIsTaken(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b, err := broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	dana, err := b.Register(ctx, broker.Caller{Explicit: "dana"}, "dana")
	for _, id := range []string{"m-1", "m-2"} {
		if err == nil {
			_, err = b.Send(ctx, broker.Session{ID: "birch", Alias: "birch"}, inbox.Message{To: "dana", Content: "hello", ID: id})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	box, err := b.Mailbox(dana.ID)
	if err != nil {
		t.Fatal(err)
	}
	waiting := func() (ids []string) {
		t.Helper()
		msgs, err := box.Peek(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			ids = append(ids, m.ID)
		}
		return ids
	}
	a := &app{b: b, ctx: ctx, results: make(chan func()), byTrace: map[inbox.Trace]*mail{}}
	a.cfg.Who = func(context.Context, *broker.Broker) (broker.Session, error) { return dana, nil }
	msgs, err := box.Peek(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a.update(live.Update{Events: []live.Event{{What: live.Stored, SessionID: dana.ID, Trace: msgs[0].Trace(), Message: msgs[0]}}})
	a.takeMine()
	(<-a.results)()
	if left := waiting(); !slices.Equal(left, []string{"m-2"}) || !strings.HasPrefix(a.says, "dana: 1 message read; ") {
		t.Errorf("left %q, and it says %q", left, a.says)
	}
	a.update(live.Update{Events: []live.Event{{What: live.Stored, SessionID: dana.ID, Trace: msgs[1].Trace(), Message: msgs[1]}}})
	a.takeMine()
	(<-a.results)()
	if left := waiting(); len(left) > 0 || a.says != "dana: 1 message read" {
		t.Errorf("left %q, and it says %q", left, a.says)
	}
}

// What is cut off is told, and it is not what one can do.
func TestWhyAMessageWaitsFitsASmallScreen(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b, err := broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Register(ctx, broker.Caller{Explicit: "amber"}, "amber")
	if err == nil {
		_, err = b.Send(ctx, broker.Session{ID: "birch", Alias: "birch"}, inbox.Message{To: "amber", Content: "hello", ID: "m-1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	a, screen := newApp(t)
	a.b, a.ctx, a.results = b, ctx, make(chan func())
	a.open("thread", []broker.Mail{{Message: inbox.Message{ID: "m-1"}}}, "m-1")
	a.why()
	(<-a.results)()
	text := strings.Join(a.box, "\n")
	if why, way := strings.Index(text, "its next call of c2c brings"), strings.Index(text, "stored at"); why < 0 || way < why {
		t.Errorf("it says\n%s", text)
	}
	a.box = strings.Split(strings.Repeat("line\n", 40), "\n")
	screen.SetSize(40, 12)
	a.draw()
	all, width, _ := screen.GetContents()
	shown, more := 0, 0
	for i := 0; i < len(all); i += width {
		row := ""
		for _, c := range all[i : i+width] {
			row += string(c.Runes)
		}
		if strings.Contains(row, "line") {
			shown++
		}
		if strings.TrimSpace(row) == "…" {
			more++
		}
	}
	if shown != 7 || more != 1 {
		t.Errorf("%d lines and %d signs that there are more", shown, more)
	}
}

// A ring tells of what had been sent by then and may be handed over.
func TestARingIsForWhatItCanTellOf(t *testing.T) {
	t.Parallel()
	sent, ring := time.Unix(100, 0), time.Unix(200, 0)
	for name, c := range map[string]struct {
		change func(m *inbox.Message)
		want   string
	}{
		"waits":          {func(*inbox.Message) {}, broker.Rung},
		"wakes nobody":   {func(m *inbox.Message) { m.Deferrable = true }, broker.Queued},
		"sent behind it": {func(m *inbox.Message) { m.TS = inbox.Seconds(ring) + 1 }, broker.Queued},
		"held":           {func(m *inbox.Message) { m.Held = "a" }, broker.Queued},
		"slowed":         {func(m *inbox.Message) { m.NotBefore = inbox.Seconds(ring) + 1 }, broker.Queued},
		"slowed before":  {func(m *inbox.Message) { m.NotBefore = inbox.Seconds(ring) - 1 }, broker.Rung},
	} {
		m := inbox.Message{From: "amber", To: "birch", ID: name, TS: inbox.Seconds(sent)}
		c.change(&m)
		a := &app{byTrace: map[inbox.Trace]*mail{}}
		a.update(live.Update{Events: []live.Event{
			{What: live.Stored, SessionID: "b", Trace: m.Trace(), Message: m}, {What: live.Rung, SessionID: "b", At: ring},
		}})
		if got := a.mails[0].state; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
