package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatClaudeSaysOfItself(t *testing.T) {
	config := t.TempDir()
	file := filepath.Join(config, "sessions", "7.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"pid":7,"status":"idle"}`: Idle, `{"pid":7,"status":"busy"}`: Busy, `{"pid":7,"status":"shell"}`: Idle, `{"pid":7,"status":"word of a later version"}`: "",
		`{"pid":7,"status":"waiting","waitingFor":"permission prompt"}`: Waiting,
		`{"pid":8,"status":"idle"}`:                                     "", `{"pid":7}`: "", `{`: "", ``: "", `[]`: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := claude().Doing(config, 7, "s"); got.Word != want || !got.Since.IsZero() || got.Background != strings.Contains(text, "shell") {
			t.Errorf("%s: %+v, want %q", text, got, want)
		}
	}
	if err := os.WriteFile(file, []byte(`{"pid":7,"status":"busy","statusUpdatedAt":1795321261985}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := claude().Doing(config, 7, "s"); !got.Since.Equal(time.UnixMilli(1795321261985)) {
		t.Errorf("since %v", got.Since)
	}
	if err := os.WriteFile(file, []byte(`{"pid":7,"status":"busy","statusUpdatedAt":9000000000000000000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := claude().Doing(config, 7, "s"); got.Word != Busy || !got.Since.IsZero() {
		t.Errorf("since a year that JSON cannot write: %+v", got)
	}
	if got := claude().Doing(config, 9, "s"); got.Word != "" {
		t.Errorf("no file: %+v", got)
	}
}

func TestWhatIsNoFileOfClaudeSaysNothing(t *testing.T) {
	config := t.TempDir()
	if err := os.Mkdir(filepath.Join(config, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for pid, make := range map[int]func(string) error{
		1: func(path string) error { return syscall.Mkfifo(path, 0o600) }, // must not be waited for
		2: func(path string) error { return os.Mkdir(path, 0o700) },
		3: func(path string) error { return os.Symlink("/dev/zero", path) },
		4: func(path string) error { // longer than any that the client writes
			return os.WriteFile(path, []byte(`{"pid":4,"status":"idle"`+strings.Repeat(" ", maxFile)+"}"), 0o600)
		},
	} {
		if err := make(filepath.Join(config, "sessions", fmt.Sprintf("%d.json", pid))); err != nil {
			t.Fatal(err)
		}
		if got := claude().Doing(config, pid, "s"); got.Word != "" {
			t.Errorf("%d: %+v", pid, got)
		}
	}
}

func TestWhatTheLogOfKimiTells(t *testing.T) {
	config := t.TempDir()
	dir := filepath.Join(config, "sessions", "wd", "session_1", "agents", KimiOwn)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := ""
	for _, c := range []struct {
		line, word string
		since      int64
	}{
		{`{"type":"metadata","created_at":1}`, Idle, 0},
		{`{"type":"turn.prompt","agentId":"main","turnId":0,"time":1000}`, Busy, 1000},
		{`{"turnId":0,"type":"agent.turn.started","time":1001,"kind":"event"}`, Busy, 1000},
		{`{"type":"interaction.request","agentId":"main","id":"approval_1","kind":"approval","time":1002}`, Waiting, 1002},
		{`{"type":"token_counting.measured","time":1003}`, Waiting, 1002},
		{`{"type":"interaction.response","id":"approval_1","time":1004}`, Busy, 1000},
		{`{"type":"interaction.request","id":"approval_2","time":1005}`, Waiting, 1005},
		{`{"message":{"message":{"role":"tool"}},"type":"agent.message.appended","time":1006}`, Busy, 1000},
		{`{"type":"turn.ended","time":1007}`, Idle, 1007},
		{`{"message":{},"type":"agent.message.appended","time":1008}`, Idle, 1007},
	} {
		log += c.line + "\n"
		if err := os.WriteFile(filepath.Join(dir, KimiLog), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		want := Doing{Word: c.word}
		if c.since > 0 {
			want.Since = time.UnixMilli(c.since)
		}
		if got := kimi().Doing(config, 7, "session_1"); got != want {
			t.Errorf("after %s: %+v, want %+v", c.line, got, want)
		}
	}
	for _, session := range []string{"", "session_2", "../wd/session_1"} {
		if got := kimi().Doing(config, 7, session); got.Word != "" {
			t.Errorf("session %q: %+v", session, got)
		}
	}
}
