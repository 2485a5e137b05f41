package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/serve/live"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// bad is a screen in memory, with sessions and mail that are as bad as others may make them.
func bad(t *testing.T) (*app, tcell.SimulationScreen) {
	t.Helper()
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(screen.Fini)
	a := newApp(Config{}, screen)
	var u live.Update
	for i, body := range []string{"", "short", strings.Repeat("x", 300<<10), strings.Repeat("日本", 500), "a" + strings.Repeat("\u0301", 5000),
		strings.Repeat("word ", 200), "\x1b[2J\x1b]0;title\x07\r\n\t\u202e\x9b31m\xff", strings.Repeat("\n", 50) + "end", "👩‍💻👨‍👩‍👧‍👦 🇩🇪 ⚠️ e\u0301"} {
		alias := strings.Repeat("n", 1+i*9)
		u.Sessions = append(u.Sessions, live.Session{Listed: sessions.Listed{ID: fmt.Sprint(i), Alias: alias, Count: i, Quiet: i%2 == 0}})
		u.Events = append(u.Events, live.Event{What: live.Stored, SessionID: fmt.Sprint(i), Fingerprint: mail.Fingerprint{byte(i)},
			Message: mail.Message{From: alias + "\n", To: "amber\x1b[31m", Content: body, ID: fmt.Sprint("m-", i), InReplyTo: "x\n"}})
	}
	a.update(u)
	return a, screen
}

func TestNoSizeAndNoKeyBreaksTheScreen(t *testing.T) {
	t.Parallel()
	a, screen := bad(t)
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
			for i, k := range keys {
				if a.says = strings.Repeat("said ", i*9); i == 5 {
					a.open("thread", []broker.Mail{{Message: a.mails[3].Message}, {Message: a.mails[4].Message}}, "")
				}
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
	a, screen := bad(t)
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

func openRoot(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// What came between the last drawing and the key counts as read by nobody.
func TestOnlyMailThatTheScreenHasIsTaken(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := openRoot(t)
	dana, err := b.Register(ctx, callers.Caller{Explicit: "dana"}, "dana")
	for _, id := range []string{"m-1", "m-2"} {
		if err == nil {
			_, err = b.Send(ctx, sessions.Session{ID: "birch", Alias: "birch"}, mail.Message{To: "dana", Content: "hello", ID: id})
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
	a := newApp(Config{Who: func(context.Context, *broker.Broker) (sessions.Session, error) { return dana, nil }}, nil)
	a.b, a.ctx = b, ctx
	msgs, err := box.Peek(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a.update(live.Update{Events: []live.Event{{What: live.Stored, SessionID: dana.ID, Fingerprint: msgs[0].Fingerprint(), Message: msgs[0]}}})
	a.takeMine()
	(<-a.results)()
	if left := waiting(); !slices.Equal(left, []string{"m-2"}) || !strings.HasPrefix(a.says, "dana: 1 message read; ") {
		t.Errorf("left %q, and it says %q", left, a.says)
	}
	a.update(live.Update{Events: []live.Event{{What: live.Stored, SessionID: dana.ID, Fingerprint: msgs[1].Fingerprint(), Message: msgs[1]}}})
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
	b := openRoot(t)
	_, err := b.Register(ctx, callers.Caller{Explicit: "amber"}, "amber")
	if err == nil {
		_, err = b.Send(ctx, sessions.Session{ID: "birch", Alias: "birch"}, mail.Message{To: "amber", Content: "hello", ID: "m-1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	a, screen := bad(t)
	a.b, a.ctx = b, ctx
	a.open("thread", []broker.Mail{{Message: mail.Message{ID: "m-1"}}}, "m-1")
	a.why()
	(<-a.results)()
	text := strings.Join(a.box, "\n")
	if why, way := strings.Index(text, "its next call of c2c brings"), strings.Index(text, "stored at"); why < 0 || way < why {
		t.Errorf("it says\n%s", text)
	}
	a.box = strings.Split(strings.Repeat("line\n", 40), "\n")
	screen.SetSize(40, 12)
	a.draw()
	shown, more := 0, 0
	for _, row := range rows(screen) {
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

// rows is what the screen shows, a text for each line.
func rows(screen tcell.SimulationScreen) (rows []string) {
	all, width, _ := screen.GetContents()
	for i := 0; i < len(all); i += width {
		row := ""
		for _, c := range all[i : i+width] {
			row += string(c.Runes)
		}
		rows = append(rows, strings.TrimRight(row, " "))
	}
	return rows
}

// A wheel moves the view by less than a message has lines.
func TestTheWheelReachesBothEnds(t *testing.T) {
	t.Parallel()
	a, screen := bad(t)
	screen.SetSize(100, 20)
	var all []broker.Mail
	for i := range 9 {
		all = append(all, broker.Mail{Message: mail.Message{ID: fmt.Sprint("t-", i), Content: fmt.Sprintf("begin %d%send %[1]d", i, strings.Repeat("\n", 12))}})
	}
	a.open("thread", all, "t-0")
	a.draw()
	turn := func(x int, wheel tcell.ButtonMask) string {
		for range 60 {
			a.event(tcell.NewEventMouse(x, 5, wheel, 0), false)
			a.draw()
		}
		return strings.Join(rows(screen), "\n")
	}
	if text := turn(60, tcell.WheelDown); !strings.Contains(text, "end 8") {
		t.Errorf("it stays at\n%s", text)
	}
	if text := turn(60, tcell.WheelUp); !strings.Contains(text, "begin 0") {
		t.Errorf("it stays at\n%s", text)
	}
	screen.SetSize(100, 8) // five lines for ten sessions
	a.draw()
	if text := turn(1, tcell.WheelDown); !strings.Contains(text, "dnd  8") || a.picked != "" {
		t.Errorf("%q is picked, and it stays at\n%s", a.picked, text)
	}
	if text := turn(1, tcell.WheelUp); !strings.Contains(text, "everybody") {
		t.Errorf("it stays at\n%s", text)
	}
}

func TestALongBoxIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	a, screen := bad(t)
	screen.SetSize(40, 12)
	a.box = helpText
	text := ""
	for n := 0; a.box != nil; n++ {
		if n > 20 {
			t.Fatal("it does not end")
		}
		a.draw()
		text += strings.Join(rows(screen), " ")
		a.event(tcell.NewEventKey(tcell.KeyDown, 0, 0), false)
	}
	for _, want := range []string{"the sessions, or", "leave", "you look at it."} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

func typeInto(a *app, text string) {
	for _, r := range text {
		a.event(tcell.NewEventKey(tcell.KeyRune, r, 0), false)
	}
}

// Two letters are begun, and a third one cannot be sent while its writer is at the next. Nor can a
// fourth, while its writer goes on with it.
func TestNothingThatWasTypedIsLost(t *testing.T) {
	t.Parallel()
	a, screen := bad(t)
	screen.SetSize(100, 20)
	a.ctx = t.Context()
	a.cfg.Who = func(context.Context, *broker.Broker) (sessions.Session, error) {
		return sessions.Session{}, fmt.Errorf("nobody")
	}
	write := func(to int, text string, end tcell.Key) {
		a.pick(to)
		a.compose()
		typeInto(a, text)
		a.event(tcell.NewEventKey(end, 0, 0), false)
	}
	write(1, "for the first", tcell.KeyEscape)
	write(2, "for the second", tcell.KeyEscape)
	write(3, "for the third", tcell.KeyEnter)
	a.pick(1)
	a.compose()
	(<-a.results)()
	typeInto(a, "!")
	a.draw()
	if text := strings.Join(rows(screen), "\n"); string(a.typing.text) != "for the first!" || !strings.Contains(text, "and kept: nobody") {
		t.Errorf("the screen is\n%s", text)
	}
	a.back()
	for to, want := range []string{"", "for the first!", "for the second", "for the third"} {
		if to > 0 {
			a.pick(to)
			a.compose()
			if string(a.typing.text) != want {
				t.Errorf("%q is left of %q", string(a.typing.text), want)
			}
			a.back()
		}
	}
	write(3, ", once more", tcell.KeyEnter)
	write(3, "and more", tcell.KeyEscape)
	(<-a.results)()
	if left := string(a.drafts["to "+a.lines[3].session.Alias]); left != "for the third, once more\nand more" {
		t.Errorf("%q is left", left)
	}
	a.compose()
	a.finish()
	a.compose()
	typeInto(a, "!")
	(<-a.results)()
	if left := string(a.typing.text); left != "for the third, once more\nand more\n!" || a.typing.at != len(left) {
		t.Errorf("%q is left, and the cursor at %d", left, a.typing.at)
	}
}

// Who leaves with half a message gets it back on the terminal: nothing else has it.
func TestWhoLeavesIsToldWhatWasNotSent(t *testing.T) {
	t.Parallel()
	a, _ := bad(t)
	a.pick(1)
	a.compose()
	typeInto(a, "kept by Esc")
	a.back()
	a.search()
	typeInto(a, "a search")
	a.back()
	a.pick(2)
	a.compose()
	typeInto(a, "still typed\x9b31m")
	var out strings.Builder
	a.tellDrafts(&out)
	if got := out.String(); strings.Count(got, "\n") != 4 || !strings.Contains(got, "not sent to n:\n    kept by Esc\n") || !strings.Contains(got, ":\n    still typed") ||
		strings.ContainsRune(got, '\x9b') {
		t.Errorf("it says %q", got)
	}
	out.Reset()
	a.typing = nil
	a.drafts = map[string][]rune{"to birch": []rune(" \n")}
	if a.tellDrafts(&out); out.Len() > 0 {
		t.Errorf("nothing was typed, and it says %q", out.String())
	}
}

// An answer comes while its thread is looked at, and is read.
func TestAThreadThatIsLookedAtGoesOn(t *testing.T) {
	t.Parallel()
	a, screen := bad(t)
	screen.SetSize(120, 20)
	a.open("thread", []broker.Mail{{Message: mail.Message{ID: "q", Content: "question"}}}, "q")
	a.found.thread = true
	tell := func(e live.Event) string {
		a.update(live.Update{Events: []live.Event{e}})
		a.draw()
		return strings.Join(rows(screen), "\n")
	}
	answer := mail.Message{ID: "a", InReplyTo: "q", From: "birch", To: "amber", Content: "the answer"}
	text := tell(live.Event{What: live.Stored, SessionID: "amber", Fingerprint: mail.Fingerprint{99}, Message: answer})
	if !strings.Contains(text, "the answer") || !strings.Contains(text, "queued") {
		t.Errorf("the screen is\n%s", text)
	}
	if text := tell(live.Event{What: live.Dead, SessionID: "amber", Fingerprint: mail.Fingerprint{99}, Message: answer, Why: "swept"}); !strings.Contains(text, "dead") || !strings.Contains(text, ": swe") {
		t.Errorf("the screen is\n%s", text)
	}
}

func TestTheCursorStandsWhereItTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"|":              "[] 0 0",
		"word|":          "[word] 0 4",
		"one two| three": "[one two  three] 0 7",
		"one two th|ree": "[one two  three] 1 2",
		"12345678|":      "[12345678] 0 8",
		"123456789|":     "[12345678 9] 1 1",
		"a\n|\nb":        "[a  b] 1 0",
		"a\n\n|":         "[a  ] 2 0",
		"日本語日|本":         "[日本語日 本] 0 8",
		"e\u0301|x":      "[e\u0301x] 0 1",
		"x\u202e|y":      "[x\\u202ey] 0 7",
	} {
		before, _, _ := strings.Cut(text, "|")
		e := &editor{text: []rune(strings.Replace(text, "|", "", 1)), at: len([]rune(before))}
		lines, row, col := e.layout(8)
		if got := fmt.Sprint(lines, row, col); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A letter with its accents, a flag and a joined picture are each one character to the person who
// types.
func TestTheCursorMovesOverWholeCharacters(t *testing.T) {
	t.Parallel()
	const accent, flag, family = "e\u0301", "\U0001F1E8\U0001F1ED", "\U0001F469\u200D\U0001F467"
	for _, tc := range []struct {
		text string
		key  tcell.Key
		want string
	}{
		{"x" + accent + "|y", tcell.KeyLeft, "x|" + accent + "y"},
		{"x|" + family + "y", tcell.KeyRight, "x" + family + "|y"},
		{flag + flag + "|", tcell.KeyLeft, flag + "|" + flag},
		{flag + family + "|", tcell.KeyBackspace2, flag + "|"},
		{"|" + accent + "x", tcell.KeyDelete, "|x"},
		{"|x", tcell.KeyLeft, "|x"},
		{"|x", tcell.KeyBackspace, "|x"},
		{"x|", tcell.KeyRight, "x|"},
		{"x|", tcell.KeyDelete, "x|"},
		{"日本|", tcell.KeyBackspace, "日|"},
	} {
		before, behind, _ := strings.Cut(tc.text, "|")
		e := &editor{text: []rune(before + behind), at: len([]rune(before))}
		e.key(tcell.NewEventKey(tc.key, 0, 0), false)
		if got := string(e.text[:e.at]) + "|" + string(e.text[e.at:]); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// counting is a screen that counts how often it is drawn.
type counting struct {
	tcell.SimulationScreen
	shows atomic.Int64
}

func (c *counting) Show() {
	c.shows.Add(1)
	c.SimulationScreen.Show()
}

// What is pasted comes as one event for each character, and each drawing breaks all of it into
// lines.
func TestWhatIsPastedIsDrawnOnce(t *testing.T) {
	t.Parallel()
	_, simulated := bad(t)
	screen := &counting{SimulationScreen: simulated}
	a := newApp(Config{Open: func(context.Context, string) (*broker.Broker, error) {
		return broker.Open(broker.Config{Root: filepath.Join(t.TempDir(), "root")})
	}, Name: func(string) string { return "" }, Look: func(context.Context, *broker.Broker) (Around, error) { return Around{}, nil }}, screen)
	ended := make(chan error)
	go func() { ended <- a.run(t.Context()) }()
	post := func(e tcell.Event) {
		for screen.PostEvent(e) != nil { // the queue is full
			runtime.Gosched()
		}
	}
	post(tcell.NewEventKey(tcell.KeyRune, '/', 0))
	post(tcell.NewEventPaste(true))
	for range 1000 {
		post(tcell.NewEventKey(tcell.KeyRune, 'x', 0))
	}
	post(tcell.NewEventKey(tcell.KeyCtrlC, 0, 0)) // pasted: it is no wish to leave
	post(tcell.NewEventKey(tcell.KeyRune, 'x', 0))
	post(tcell.NewEventPaste(false))
	post(tcell.NewEventKey(tcell.KeyCtrlC, 0, 0))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(a.typing.text) != 1001 || screen.shows.Load() > 100 {
		t.Errorf("drawn %d times, and %d characters are there", screen.shows.Load(), len(a.typing.text))
	}
}

func TestTheFlowSaysThatMailIsFromOutside(t *testing.T) {
	t.Parallel()
	m := &mailView{Message: mail.Message{From: "external-ci", To: "amber", Kind: "task", External: true}, fate: &live.Mail{State: sessions.Queued}}
	text := ""
	for _, p := range newApp(Config{}, nil).parts(line{mailView: m}, 100, false) {
		text += p.text
	}
	if !strings.Contains(text, " external-ci (outside) → amber task") {
		t.Error(text)
	}
}
