package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/serve/live"
	"c2c/sessions"
)

// full is a screen of so many sessions, of which a few ask their person and a few have ended.
func full(t *testing.T, sessionList, w, h int) (*app, tcell.SimulationScreen) {
	t.Helper()
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(screen.Fini)
	screen.SetSize(w, h)
	a := newApp(Config{}, screen)
	var u live.Update
	for i := range sessionList {
		does := []sessions.State{sessions.Idle, sessions.Busy, sessions.Idle, sessions.Absent, sessions.Idle}[i%5]
		if i%20 == 17 {
			does = sessions.Waiting
		}
		state := sessions.Alive
		if does == sessions.Absent {
			state = sessions.Absent
		}
		name := fmt.Sprintf("%s-%d", []string{"amber", "birch", "cedar"}[i%3], i)
		u.Sessions = append(u.Sessions, live.Session{Listed: sessions.Listed{ID: fmt.Sprint("id-", i), Alias: name, Client: []string{"claude", "codex"}[i%2], State: state, Now: sessions.Now{Does: does}}})
	}
	a.update(u)
	a.draw()
	return a, screen
}

func shows(screen tcell.SimulationScreen) string { return strings.Join(rows(screen), "\n") }

func press(a *app, keys ...any) {
	for _, k := range keys {
		switch k := k.(type) {
		case tcell.Key:
			a.event(tcell.NewEventKey(k, 0, 0), false)
		case string:
			typeInto(a, k)
		}
		a.draw()
	}
}

// styleOf gives the style of the first place where a text is shown.
func styleOf(t *testing.T, screen tcell.SimulationScreen, text string) tcell.Style {
	t.Helper()
	all, width, _ := screen.GetContents()
	for y, row := range rows(screen) {
		if i := strings.Index(row, text); i >= 0 {
			return all[y*width+len([]rune(row[:i]))].Style
		}
	}
	t.Fatalf("%q is not on\n%s", text, shows(screen))
	return tcell.StyleDefault
}

func TestWhoAsksItsPersonStandsOnTop(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 60, 80, 24)
	text := rows(screen)
	for i, want := range []string{"c2c watch · 60 sessions · 0 messages waiting", " 48 sessions NOW          │", "  everybody", "! cedar-17", "! birch-37", "! amber-57", "· amber-0"} {
		if !strings.HasPrefix(strings.TrimPrefix(text[i], " "), strings.TrimPrefix(want, " ")) {
			t.Errorf("line %d is %q, want %q", i, text[i], want)
		}
	}
	if !strings.HasSuffix(text[0], " ! 3 need you") {
		t.Errorf("the head is %q", text[0])
	}
	press(a, tcell.KeyEnd)
	if last := rows(screen)[21]; !strings.HasPrefix(last, "▸ 12 ended or unknown ") || strings.Contains(shows(screen), "absent") {
		t.Errorf("the last one is %q", last)
	}
	press(a, tcell.KeyEnter, tcell.KeyEnd)
	if last := rows(screen)[21]; !strings.HasPrefix(last, "- ") || !strings.Contains(last, "absent") {
		t.Errorf("unfolded, the last one is %q", last)
	}
	asks, busy := styleOf(t, screen, "! 3 need you"), styleOf(t, screen, "c2c watch")
	if asks == busy {
		t.Error("the head does not stand out")
	}
}

func TestTheListSaysWhereItIs(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 60, 80, 24)
	if text := shows(screen); !strings.Contains(text, " 48 sessions NOW          │") || !strings.Contains(text, "┃") {
		t.Errorf("at first\n%s", text)
	}
	for range 36 {
		press(a, tcell.KeyDown)
	}
	if text := shows(screen); !strings.Contains(text, "36 of 49") || strings.Contains(rows(screen)[2], "┃") {
		t.Errorf("behind 36\n%s", text)
	}
	if _, screen := full(t, 2, 80, 24); strings.Contains(shows(screen), "┃") {
		t.Errorf("all are seen:\n%s", shows(screen))
	}
}

func TestTheFilterShowsWhatHasItsWords(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 60, 80, 24)
	press(a, "f", "CEDAR co")
	if text := shows(screen); strings.Contains(text, "amber-") || !strings.Contains(text, "cedar-5 ") || strings.Contains(text, "cedar-2 ") || !strings.Contains(text, "with CEDAR co") {
		t.Errorf("the words are typed:\n%s", text)
	}
	press(a, tcell.KeyEnter, tcell.KeyDown)
	if !strings.Contains(shows(screen), "1 of 10") || a.picked == "" {
		t.Errorf("the first is picked:\n%s", shows(screen))
	}
	press(a, tcell.KeyEscape, tcell.KeyEscape)
	if text := shows(screen); !strings.Contains(text, "amber-") || a.filter != "" {
		t.Errorf("without a filter:\n%s", text)
	}
	press(a, "f", "waiting", tcell.KeyEscape)
	if !strings.Contains(shows(screen), "amber-") {
		t.Errorf("it was left:\n%s", shows(screen))
	}
}

func TestALongMessageIsReadFromEndToEnd(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 2, 80, 24)
	var all []broker.Mail
	for i := range 3 {
		all = append(all, broker.Mail{Message: mail.Message{ID: fmt.Sprint("m-", i), Content: fmt.Sprintf("begin-%d\n%send-%[1]d", i, strings.Repeat("line\n", 40))}})
	}
	a.open("thread", all, "m-1")
	a.draw()
	press(a, tcell.KeyHome)
	if text := shows(screen); !strings.Contains(text, "begin-0") || !strings.Contains(text, "lines 1–20 of 129") || a.found.message().ID != "m-0" {
		t.Errorf("Home:\n%s", text)
	}
	press(a, tcell.KeyEnd)
	if text := shows(screen); !strings.Contains(text, "end-2") || !strings.Contains(text, "lines 110–129 of 129") || a.found.message().ID != "m-2" {
		t.Errorf("End:\n%s", text)
	}
	press(a, tcell.KeyPgUp)
	if text := shows(screen); !strings.Contains(text, "lines 91–110 of 129") && !strings.Contains(text, "lines 92–111 of 129") {
		t.Errorf("Page Up:\n%s", text)
	}
}

func TestItIsWrittenToWhomIsSaid(t *testing.T) {
	t.Parallel()
	a, screen := full(t, 30, 80, 24)
	press(a, "c", "BIRCH-22", tcell.KeyEnter, "hello")
	if a.typing == nil || a.typing.title != "to birch-22" || string(a.typing.text) != "hello" {
		t.Errorf("by its name:\n%s", shows(screen))
	}
	press(a, tcell.KeyEscape, "c", "birch-4", tcell.KeyEnter)
	if a.typing == nil || a.typing.title != "to birch-4" {
		t.Errorf("by a whole name that others begin with:\n%s", shows(screen))
	}
	press(a, tcell.KeyEscape, "c", "birch-", tcell.KeyEnter)
	if a.typing != nil || !strings.Contains(a.says, `no session is called "birch-": birch-`) {
		t.Errorf("it says %q", a.says)
	}
	press(a, "c", "brch-22", tcell.KeyEnter)
	if a.typing != nil || !strings.Contains(a.says, "birch-22") {
		t.Errorf("it says %q", a.says)
	}
}

func TestNamesAndStatesAreToldApart(t *testing.T) {
	t.Parallel()
	a := newApp(Config{}, nil)
	seen := map[tcell.Style]string{}
	for i := range len(palette) {
		name := fmt.Sprint("name-", i)
		style := a.colourOf(name)
		if other, taken := seen[style]; taken || a.colourOf(name) != style {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[style] = name
	}
	marks := map[string]bool{}
	for does := range signs {
		if mark := signOf(does).mark; does != sessions.External && marks[mark] {
			t.Errorf("%s has the mark %s of another one", does, mark)
		} else {
			marks[mark] = true
		}
	}
}

func TestMarkdownKeepsItsForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"first\n\n  indented text here":  "first||  indented text|  here",
		"- one two three four\n- five":   "- one two three|  four|- five",
		"10. one two three four":         "10. one two|    three four",
		"> one two three four five":      "> one two three|  four five",
		"```go\nif a  {  b := cc }\n```": "```go|if a  {  b :=|cc }|```",
		"    a  b   c    d  e  f":        "    a  b   c|d  e  f",
		"| a  | b   | c  | d |":          "| a  | b   | c|| d |",
		"~~~\n```\n~~~\n# one two three": "~~~|```|~~~|# one two three",
	} {
		var got []string
		for _, l := range layout(text, 15) {
			got = append(got, strings.TrimRight(l.text, " "))
		}
		if text == "    a  b   c    d  e  f" || strings.HasPrefix(text, "| a") {
			for i := range got {
				got[i] = strings.TrimLeft(got[i], " ")
				want = strings.ReplaceAll(want, "    a", "a")
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q is %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
	styles := map[string]tcell.Style{}
	for _, l := range layout("# head\ntext\n```\ncode\n```", 40) {
		styles[l.text] = l.style
	}
	if styles["# head"] != bold || styles["code"] != code || styles["text"] != plain {
		t.Errorf("%v", styles)
	}
}

// Whatever somebody writes, no line is wider than the screen, and nothing of what is drawn is
// missing but spaces.
func FuzzLayout(f *testing.F) {
	f.Add("# a\n- b\n```\nc\n", 10)
	f.Add("> 日本語 e\u0301 x", 3)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		if len(text) > 1<<12 {
			return
		}
		columns = 2 + (columns&0x7fffffff)%200
		text = clean(text)
		kept := func(s string) string {
			out := ""
			for _, r := range s {
				if !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) { // an accent without a letter is not drawn
					out += string(r)
				}
			}
			return out
		}
		var all []string
		for _, l := range layout(text, columns) {
			if width(l.text) > columns {
				t.Errorf("%q takes %d of %d columns", l.text, width(l.text), columns)
			}
			all = append(all, l.text)
		}
		var drawn strings.Builder // what takes no column is not
		for l := range strings.Lines(text) {
			cells(strings.TrimRight(l, "\n"), func(char string, _ int) bool { drawn.WriteString(char); return true })
		}
		if got, want := kept(strings.Join(all, "\n")), kept(drawn.String()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestEverySizeAndNumberOfSessionsIsDrawn(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}} {
		for _, n := range []int{2, 10, 60, 400} {
			a, screen := full(t, n, size[0], size[1])
			press(a, tcell.KeyEnd)
			text := rows(screen)
			last := len(a.lines) - 1 // with the line for those that have ended
			if i := slices.IndexFunc(text, func(row string) bool { return strings.Contains(row, fmt.Sprintf("%d of %d", last, last)) }); i < 0 || len(a.lines)-1+a.folded < n {
				t.Errorf("%v, %d sessions:\n%s", size, n, shows(screen))
			}
		}
	}
}
