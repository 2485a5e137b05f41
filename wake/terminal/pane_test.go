package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestAPaneIsReadAsItWasWritten(t *testing.T) {
	for _, p := range []Pane{
		{KindTmux, "/tmp/tmux-0/default", "%0"},
		{KindTmux, "/tmp/with space: and,comma/é", "%2147483647"},
		{KindScreen, "24838.pts-0.host", "0"},
		{KindScreen, "1.a name:%n", "39"},
	} {
		if got, err := ParsePane(p.String()); err != nil || got != p {
			t.Errorf("%q: %v, %v", p.String(), got, err)
		}
	}
}

func TestEveryKindOfPaneIsComplete(t *testing.T) {
	for _, k := range paneKinds {
		if k.name == "" || k.variable == "" || k.here == nil || k.valid == nil || k.open == nil {
			t.Errorf("the kind %q lacks a field; only sockets may be empty", k.name)
		}
	}
}

func TestADamagedPaneIsRefused(t *testing.T) {
	for _, s := range []string{
		"", "tmux", "tmux:%0", "tmux:%0:", "kitty:1:/s", "TMUX:%0:/s", " tmux:%0:/s",
		"tmux:0:/s", "tmux:%:/s", "tmux:%-1:/s", "tmux:%01:/s", "tmux:%0x:/s", "tmux:%4294967296:/s", "tmux:%0 :/s", "tmux:=a:/s",
		"tmux:%0:s", "tmux:%0:/a/../s", "tmux:%0:/s/", "tmux:%0:/a\nb", "tmux:%0:/a\x1bb", "tmux:%0:/a\xff", "tmux:%0:/" + strings.Repeat("s", 107),
		"screen:%0:1.a", "screen::1.a", "screen:-1:1.a", "screen:0:a", "screen:0:1.", "screen:0:.a", "screen:0:1", "screen:0:-1.a", "screen:0:1./a", "screen:0:01.a",
	} {
		if p, err := ParsePane(s); err == nil {
			t.Errorf("%q is %+v", s, p)
		}
	}
}

func TestThePaneThatAProcessRunsIn(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Pane
		hint string
	}{
		{map[string]string{"TMUX": "/tmp/a,b/default,1234,0", "TMUX_PANE": "%3"}, Pane{KindTmux, "/tmp/a,b/default", "%3"}, ""},
		{map[string]string{"STY": "1234.pts-0.host", "WINDOW": "2"}, Pane{KindScreen, "1234.pts-0.host", "2"}, ""},
		{nil, Pane{}, "run this inside screen or tmux"},
		{map[string]string{"TMUX": "/s,1,0", "TMUX_PANE": "%3", "STY": "1.a", "WINDOW": "2"}, Pane{}, "unset STY or TMUX"},
		{map[string]string{"TMUX": "/s,1,0"}, Pane{}, "the id of a tmux pane"},
		{map[string]string{"TMUX": "x", "TMUX_PANE": "%3"}, Pane{}, "the name of its socket is empty or invalid"},
		{map[string]string{"STY": "1.a"}, Pane{}, "the id of a screen window is a number"},
	} {
		p, err := PaneHere(func(key string) string { return c.env[key] })
		if p != c.want || (err == nil) != (c.hint == "") || err != nil && !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%v: %+v, %v", c.env, p, err)
		}
	}
}

// What a real Claude Code drew, as screen's hardcopy gives it: without colours, and of each
// character but the rules, which readable puts back, the low byte.
func TestAPromptIsRecognisedWithoutItsHighBytes(t *testing.T) {
	for name, want := range map[string]bool{"claude-idle": true, "claude-draft": false, "claude-dialog": false, "claude-busy": false} {
		drawn, err := os.ReadFile(filepath.Join("testdata", name+".raw"))
		if err != nil {
			t.Fatal(err)
		}
		s := NewScreen(40, 120)
		s.Write(drawn)
		var lines []string
		for i := range s.Rows() {
			lines = append(lines, strings.Map(func(r rune) rune {
				if r == '─' {
					return r
				}
				return r & 0xff
			}, LineText(s.Line(i))))
		}
		row, col, _ := s.Position()
		draft, err := Prompt("claude", Captured(withSigns(lines), row, col))
		if (err == nil && draft == "") != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// script is a tmux that does what a shell script says.
func script(t *testing.T, text string) *command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tmux")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &command{path: path, env: []string{"ONLY=this"}}
}

func TestACommandIsBounded(t *testing.T) {
	if _, err := script(t, "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done").run(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("endless output: %v", err)
	}
	if _, err := script(t, "exec sleep 60").run(t.Context()); err == nil || !strings.Contains(err.Error(), "within 2s") {
		t.Errorf("no answer: %v", err)
	}
	fifo := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	go func() {
		os.ReadFile(fifo)
		cancel(stop)
	}()
	if _, err := script(t, "echo > "+fifo+"; exec sleep 60").run(ctx); err != stop {
		t.Errorf("cancelled: %v", err)
	}
}

func TestACommandGetsNoKeysAndNoShell(t *testing.T) {
	t.Setenv("SOME_KEY", "secret")
	cmd := script(t, `for arg; do :; done; echo "$SOME_KEY|$ONLY$SCREENDIR|$arg"`)
	s, err := newScreen(cmd.path, "/sockets", Pane{KindScreen, "1.a", "0"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for env, cmd := range map[string]*command{"this": cmd, "": &newTmux(cmd.path, Pane{KindTmux, "/s", "%0"}, 1).cmd, "/sockets": &s.cmd} {
		if out, err := cmd.run(t.Context(), "$(id) ;\n"); err != nil || out != "|"+env+"|$(id) ;\n\n" {
			t.Errorf("%q, %v", out, err)
		}
	}
}

// screen writes U+251B as an escape character, and U+2500 as NUL.
func TestAPictureOfScreenHasNoControlCharacters(t *testing.T) {
	got := readable([]byte("o\xa0a\n\x00\x1b[2J\x7f\x9b\xe9\n"))
	if want := []string{"o\u00a0a", "─┛[2J╿▛é"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatScreenSaysOfAWindow(t *testing.T) {
	want := muxState{row: 3, col: 11, height: 24, scrollback: 102}
	for _, out := range []string{"(12,4)/(80,24)+102 +flow UTF-8 0(sh)", "Remove dead screens with 'screen -wipe'.\r\n(12,4)/(80,24)+102"} {
		if got, err := parseInfo(out); err != nil || got != want {
			t.Errorf("%q is %+v, %v", out, got, err)
		}
	}
	for _, out := range []string{"", "no window", "(12,4)", "(0,4)/(80,24)+102"} {
		if got, err := parseInfo(out); err == nil {
			t.Errorf("%q is %+v", out, got)
		}
	}
}
