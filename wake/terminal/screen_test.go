package terminal

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	profiles "c2c/client"
)

// recorded replays what a real client drew on a terminal of 120 columns and 40 lines. Of Kimi Code
// and Qwen Code what was drawn over is left out.
func recorded(t testing.TB, name string) *Screen {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".raw"))
	if err != nil {
		t.Fatal(err)
	}
	s := NewScreen(40, 120)
	s.Write(b)
	return s
}

func TestThePromptOfARealClientIsReadAndNothingElseIsTakenForIt(t *testing.T) {
	long := `<c2c event="message_pending" count="2" from="amber-with-a-long-name,birch-with-a-long-name,coral-with-a-long-name">poll mcp__c2c__poll_inbox</c2c>`
	sentinel := `<c2c event="message_pending" count="2" from="amber,birch">poll mcp__c2c__poll_inbox</c2c>`
	for name, want := range map[string]struct {
		draft string
		err   error
	}{
		"claude-fresh": {}, "claude-idle": {}, "claude-idle-bypass": {}, "claude-idle-plan": {},
		"claude-idle-accept": {}, "claude-idle-refused": {},
		"claude-draft": {draft: "half"}, "claude-draft-home": {draft: "half"}, "claude-pasted": {draft: sentinel},
		"claude-menu": {draft: "/"}, "claude-help": {err: errMenu}, "claude-busy": {err: errTurn},
		"claude-dialog": {err: errNoPrompt}, "claude-picker": {err: errNoPrompt},
		"codex-fresh": {err: errMenu}, // it still loads
		"codex-idle":  {}, "codex-idle-again": {},
		"codex-draft": {draft: "half"}, "codex-draft-home": {draft: "half"}, "codex-pasted": {draft: sentinel},
		"codex-menu": {draft: "/"}, "codex-busy": {err: errTurn}, "codex-dialog": {err: errNoPrompt},
		"kimi-fresh": {}, "kimi-idle": {}, "kimi-plan": {},
		"kimi-draft": {draft: "half"}, "kimi-draft-home": {draft: "half"}, "kimi-pasted": {draft: long},
		"kimi-menu": {err: errMenu}, "kimi-bash": {err: errMenu}, "kimi-btw": {err: errNoPrompt},
		"kimi-picker": {err: errNoPrompt}, "kimi-help": {err: errNoPrompt}, "kimi-dialog": {err: errNoPrompt},
		"kimi-busy": {err: errTurn}, "kimi-busy-tool": {err: errTurn}, "kimi-busy-answer": {err: errTurn}, "kimi-busy-draft": {"half", errTurn},
		"kimi-busy-queued": {err: errQueue},
		"qwen-fresh":       {}, "qwen-idle": {}, "qwen-idle-yolo": {},
		"qwen-draft": {draft: "half"}, "qwen-draft-home": {draft: "half"}, "qwen-pasted": {draft: long},
		"qwen-menu": {err: errMenu}, "qwen-bash": {err: errMenu}, "qwen-shortcuts": {err: errMenu},
		"qwen-picker": {err: errNoPrompt}, "qwen-help": {err: errNoPrompt}, "qwen-dialog": {err: errNoPrompt},
		"qwen-busy": {err: errTurn}, "qwen-busy-draft": {err: errTurn},
		"gemini-fresh": {}, "gemini-idle-yolo": {}, "gemini-idle-truecolor": {},
		"gemini-draft": {draft: "half"}, "gemini-draft-home": {draft: "half"}, "gemini-pasted": {draft: sentinel},
		"gemini-menu": {draft: "/"}, "gemini-picker": {draft: "@"}, "gemini-shell": {err: errNoPrompt},
		"gemini-busy": {err: errTurn}, "gemini-dialog": {err: errNoPrompt},
	} {
		client, _, _ := strings.Cut(name, "-")
		s := recorded(t, name)
		draft, err := Prompt(client, s)
		if !SameText(draft, want.draft) || err != want.err { // a box breaks lines
			t.Errorf("%s: %q, %v; want %q, %v\n%s", name, draft, err, want.draft, want.err, s)
		}
	}
}

// What joins a turn is sent with a key that sends what its person has queued, too.
func TestALineJoinsATurnOnlyWhereOneRunsAndNothingIsQueued(t *testing.T) {
	for name, want := range map[string]string{"kimi-busy": "", "kimi-busy-tool": "", "kimi-busy-draft": "half"} {
		if draft, err := JoinPrompt(kimi, recorded(t, name)); draft != want || err != nil {
			t.Errorf("%s: %q, %v", name, draft, err)
		}
	}
	for _, name := range []string{"kimi-idle", "kimi-busy-queued", "kimi-dialog", "kimi-btw"} {
		if _, err := JoinPrompt(kimi, recorded(t, name)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Enter may have ended a line instead of sending it; the next one sends it.
func TestADraftOfGeminiMayEndWithAnEmptyLine(t *testing.T) {
	for name, want := range map[string]string{"gemini-draft": "half", "gemini-idle-yolo": geminiHint} {
		s := recorded(t, name)
		io.WriteString(s, "\r\x1b[B\x1b[3C")
		if draft, err := Prompt(gemini, s); draft != want || err != nil {
			t.Errorf("%s: %q, %v", name, draft, err)
		}
	}
}

func TestTheProfilesSayWhosePromptIsRead(t *testing.T) {
	for _, p := range profiles.All() {
		if layout, known := layouts[p.Name]; p.Prompt != known || known && layout.read == nil {
			t.Errorf("the profile of %s says Prompt: %v, and wake/terminal/%s.go can read one: %v", p.Name, p.Prompt, p.Name, known)
		}
	}
	for name := range layouts {
		if _, known := profiles.Find(name); !known {
			t.Errorf("wake/terminal/%s.go is of no client", name)
		}
		if screens, err := filepath.Glob(filepath.Join("testdata", name+"-*.raw")); len(screens) == 0 {
			t.Errorf("no screen of %s is recorded in testdata (%v)", name, err)
		}
	}
}

func TestAnUnknownClientHasNoPrompt(t *testing.T) {
	if _, err := Prompt("vi", recorded(t, "claude-idle")); err == nil {
		t.Error("no error")
	}
	for client := range layouts {
		for _, other := range []string{"claude", "codex", "kimi", "qwen"} {
			if _, err := Prompt(client, recorded(t, other+"-idle")); (err == nil) != (client == other) {
				t.Errorf("%s as %s: %v", other, client, err)
			}
		}
	}
}

func TestAScreenShowsWhatATerminalWould(t *testing.T) {
	for name, test := range map[string]struct{ drawn, want string }{
		"lines":                 {"one\r\ntwo", "one\ntwo\n\n\n"},
		"wrap":                  {"123456789", "12345678\n9\n\n\n"},
		"no wrap before it":     {"12345678\r\n9", "12345678\n9\n\n\n"},
		"back and over":         {"one\rtwo\b!", "tw!\n\n\n\n"},
		"tab past the end":      {"a\t\tb", "a      b\n\n\n\n"},
		"scroll":                {"1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5\n"},
		"region":                {"1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n5\x1b[r", "1\n3\n5\n4\n"},
		"reverse line feed":     {"1\r\n2\x1b[1;1H\x1bM0", "0\n1\n2\n\n"},
		"insert and delete":     {"1\r\n2\r\n3\x1b[2;1H\x1b[L-\x1b[4;1H\x1b[M", "1\n-\n2\n\n"},
		"characters":            {"abcdef\x1b[3G\x1b[2P\x1b[@x\x1b[6G\x1b[X", "abxef\n\n\n\n"},
		"erase":                 {"abcd\r\nefgh\x1b[1;3H\x1b[K\x1b[2;2H\x1b[1K", "ab\n  gh\n\n\n"},
		"erase below":           {"ab\r\ncd\r\nef\x1b[2;2H\x1b[J", "ab\nc\n\n\n"},
		"erase above":           {"ab\r\ncd\r\nef\x1b[2;1H\x1b[1J", "\n d\nef\n\n"},
		"save and restore":      {"ab\x1b7\x1b[3;3Hx\x1b8c", "abc\n\n  x\n\n"},
		"alternate":             {"main\x1b[?1049h\x1b[Halt\x1b[?1049l!", "main!\n\n\n\n"},
		"wide":                  {"日本a\x1b[5Gb", "日本b\n\n\n\n"},
		"a title in UTF-8":      {"\x1b]0;\xe2\x9c\xb3 title\x07a", "a\n\n\n\n"},
		"out of bounds":         {"\x1b[99;99Hx\x1b[99A\x1b[99Dy\x1b[999999999P", "y\n\n\n       x\n"},
		"colours are not text":  {"\x1b[1;38;2;1;2;3;48;5;7ma\x1b[0mb\x1b[38:2::1:2:3mc", "abc\n\n\n\n"},
		"reset":                 {"abc\x1b[?25l\x1bcd", "d\n\n\n\n"},
		"scroll up and down":    {"1\r\n2\r\n3\x1b[2S\x1b[T", "\n3\n\n\n"},
		"a region upside down":  {"\x1b[3;2r\x1b[Hab", "ab\n\n\n\n"},
		"a sequence cut in two": {"a\x1b[2", "a\n\n\n\n"},
	} {
		s := NewScreen(4, 8)
		for _, b := range []byte(test.drawn) {
			s.Write([]byte{b})
		}
		if got := s.String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestWhatIsDimIsAHintAndNoDraft(t *testing.T) {
	s := NewScreen(2, 20)
	s.Write([]byte("a\x1b[2mb\x1b[39mc\x1b[22md"))
	for i, want := range []Cell{{'a', false}, {'b', true}, {'c', true}, {'d', false}} {
		if got := s.Line(0)[i]; got != want {
			t.Errorf("cell %d is %+v, want %+v", i, got, want)
		}
	}
}

// A multiplexer tells the same as the client drew.
func TestACapturedScreenHasTheSamePrompt(t *testing.T) {
	for _, name := range []string{"claude-idle", "claude-draft", "claude-dialog", "codex-idle", "codex-draft", "codex-menu",
		"kimi-idle", "kimi-draft", "kimi-busy", "qwen-idle", "qwen-draft", "qwen-dialog"} {
		client, _, _ := strings.Cut(name, "-")
		s := recorded(t, name)
		var lines []string
		for i := range s.Rows() {
			line := ""
			for _, c := range s.Line(i) {
				switch {
				case c.Rune == 0:
					line += " "
				case c.Faint:
					line += "\x1b[2m" + string(c.Rune) + "\x1b[0m"
				default:
					line += string(c.Rune)
				}
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
		row, col, _ := s.Position()
		want, wantErr := Prompt(client, s)
		got, err := Prompt(client, Captured(lines, row, col))
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, want, wantErr)
		}
	}
}

func TestAHugeTerminalTakesLittleMemory(t *testing.T) {
	s := NewScreen(1<<16-1, 1<<16-1)
	s.Resize(1<<16-1, 1<<16-1)
	s.Write([]byte("\x1b[60000;60000Hx\n\x1b[?1049hy"))
	if cells := s.Rows() * len(s.Line(0)); cells > 1<<20 {
		t.Errorf("%d cells", cells)
	}
}

func TestAResizeForgetsThePicture(t *testing.T) {
	s := recorded(t, "claude-idle")
	s.Resize(30, 80)
	if _, err := Prompt("claude", s); err == nil {
		t.Error("a prompt is seen where nothing was drawn")
	}
}

// Any program in the terminal may set its size, up to 65535 lines of 65535 columns. That would take
// gigabytes.
func TestATerminalThatIsTooLargeHasNoCopy(t *testing.T) {
	for _, size := range [][2]int{{65535, 65535}, {65535, 120}, {40, 65535}, {math.MaxInt, math.MaxInt}} {
		s := NewScreen(size[0], size[1])
		if cells := s.Rows() * len(s.Line(0)); cells > maxCells {
			t.Fatalf("%v: a new screen has %d cells", size, cells)
		}
		s = recorded(t, "claude-idle")
		s.Resize(size[0], size[1])
		if cells := s.Rows() * len(s.Line(0)); cells > maxCells {
			t.Fatalf("%v: after a resize it has %d cells", size, cells)
		}
		drawn, err := os.ReadFile("testdata/claude-idle.raw")
		if err != nil {
			t.Fatal(err)
		}
		s.Write(drawn)
		if _, err := Prompt("claude", s); err == nil {
			t.Errorf("%v: a prompt is seen in a copy that does not have the size of the terminal", size)
		}
		s.Resize(40, 120)
		s.Write(drawn)
		if _, err := Prompt("claude", s); err != nil {
			t.Errorf("%v: when the terminal has a usual size again: %v", size, err)
		}
	}
	if s := NewScreen(24, 9999); s.Rows() != 24 || len(s.Line(0)) != 9999 { // some people set this, so that no line is broken
		t.Errorf("%d lines of %d", s.Rows(), len(s.Line(0)))
	}
}

func FuzzScreen(f *testing.F) {
	for _, name := range []string{"claude-idle", "codex-dialog", "kimi-busy-queued", "qwen-idle"} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".raw"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, 40, 120)
	}
	f.Add([]byte("\x1b[99999999999H\x1b[-1P\x1b[;;;;m\x1b[3;2r\n\x1bM\xff\x9c"), 1, 1)
	f.Fuzz(func(t *testing.T, drawn []byte, rows, cols int) {
		s := NewScreen(rows%100, cols%300)
		s.Write(drawn[:len(drawn)/2])
		s.Resize(cols%100, rows%300)
		s.Write(drawn[len(drawn)/2:])
		for client := range layouts {
			Prompt(client, s)
		}
	})
}

func BenchmarkScreen(b *testing.B) {
	text := []byte(strings.Repeat(strings.Repeat("x", 79)+"\r\n", 800))
	s := NewScreen(40, 120)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Write(text)
	}
}
