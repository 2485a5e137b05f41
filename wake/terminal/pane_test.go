package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAPaneIsReadAsItWasWritten(t *testing.T) {
	for _, p := range []Pane{
		{"/tmp/tmux-0/default", "%0"},
		{"/tmp/with space: and,comma/é", "%2147483647"},
	} {
		if got, err := ParsePane(p.String()); err != nil || got != p {
			t.Errorf("%q: %v, %v", p.String(), got, err)
		}
	}
}

func TestADamagedPaneIsRefused(t *testing.T) {
	for _, s := range []string{
		"", "tmux", "tmux:%0", "tmux:%0:", "kitty:1:/s", "TMUX:%0:/s", " tmux:%0:/s",
		"tmux:0:/s", "tmux:%:/s", "tmux:%-1:/s", "tmux:%01:/s", "tmux:%0x:/s", "tmux:%4294967296:/s", "tmux:%0 :/s", "tmux:=a:/s",
		"tmux:%0:s", "tmux:%0:/a/../s", "tmux:%0:/s/", "tmux:%0:/a\nb", "tmux:%0:/a\x1bb", "tmux:%0:/a\xff", "tmux:%0:/" + strings.Repeat("s", 107),
		"screen:0:1.a",
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
		{map[string]string{"TMUX": "/tmp/a,b/default,1234,0", "TMUX_PANE": "%3"}, Pane{"/tmp/a,b/default", "%3"}, ""},
		{nil, Pane{}, "run this inside tmux"},
		{map[string]string{"TMUX": "/s,1,0"}, Pane{}, "the id of a tmux pane"},
		{map[string]string{"TMUX": "x", "TMUX_PANE": "%3"}, Pane{}, "the name of its socket is empty or invalid"},
	} {
		p, err := PaneHere(func(key string) string { return c.env[key] })
		if p != c.want || (err == nil) != (c.hint == "") || err != nil && !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%v: %+v, %v", c.env, p, err)
		}
	}
}

// script is a tmux that does what a shell script says.
func script(t *testing.T, text string) *tmux {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tmux")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &tmux{path: path}
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
	cmd := script(t, `for arg; do :; done; echo "$SOME_KEY|$arg"`)
	if out, err := cmd.run(t.Context(), "$(id) ;\n"); err != nil || out != "|$(id) ;\n\n" {
		t.Errorf("%q, %v", out, err)
	}
}
