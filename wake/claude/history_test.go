package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/wake"
)

const talk = `{"type":"queue-operation","sessionId":"s-1"}
{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hello"},"uuid":"u-1","sessionId":"s-1","cwd":"/p","version":"2.1.329","gitBranch":"main","userType":"external"}
{"parentUuid":"u-1","isSidechain":false,"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},"uuid":"u-2","sessionId":"s-1","cwd":"/p","version":"2.1.329"}
{"parentUuid":"u-1","isSidechain":true,"type":"assistant","message":{},"uuid":"u-3","sessionId":"s-1"}
{"type":"last-prompt","leafUuid":"u-2","sessionId":"s-1"}
`

// past is a home with the history of the session s-1.
type past struct {
	t          *testing.T
	home, file string
}

func newPast(t *testing.T, below, text string) past {
	t.Helper()
	p := past{t, t.TempDir(), ""}
	p.file = filepath.Join(p.home, below, "projects", "-p", "s-1.jsonl")
	p.write(p.file, text)
	return p
}

func (p past) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p past) read() string {
	p.t.Helper()
	data, err := os.ReadFile(p.file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

func (p past) inject(id, text string) error {
	getenv := func(name string) string { return map[string]string{"HOME": p.home}[name] }
	_, err := Inject(wake.History{Getenv: getenv, Config: filepath.Join(p.home, ".claude"), ID: id, Text: text, Now: time.Unix(1, 5e6)})
	return err
}

// added are the conversation lines behind a text.
func (p past) added(before string) (all []entry) {
	p.t.Helper()
	rest, ok := strings.CutPrefix(p.read(), before)
	if !ok || !strings.HasSuffix(rest, "\n") {
		p.t.Fatalf("what was there was changed:\n%s", p.read())
	}
	for line := range strings.Lines(rest) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

func TestAnInjectedMessageFollowsTheLastOfTheConversation(t *testing.T) {
	t.Parallel()
	p := newPast(t, ".claude", talk)
	for _, text := range []string{"one <b>\n\u2028", "two"} {
		if err := p.inject("s-1", text); err != nil {
			t.Fatal(err)
		}
	}
	got := p.added(talk)
	if len(got) != 2 || *got[0].ParentUUID != "u-2" || *got[1].ParentUUID != got[0].UUID || got[0].UUID == got[1].UUID {
		t.Fatalf("added %+v", got)
	}
	e := got[0]
	if e.Message.Content != "one <b>\n\u2028" || e.Message.Role != "user" || e.Type != "user" || e.IsSidechain || e.SessionID != "s-1" ||
		e.CWD != "/p" || e.Version != "2.1.329" || e.Timestamp != "1970-01-01T00:00:01.005Z" || len(e.UUID) != 36 {
		t.Errorf("added %+v", e)
	}
}

func TestAHistoryThatEndsInHalfALineIsGoneOnWith(t *testing.T) {
	t.Parallel()
	half := talk + `{"parentUuid":"u-2","isSide`
	p := newPast(t, ".claude", half)
	if err := p.inject("s-1", "one"); err != nil {
		t.Fatal(err)
	}
	if got := p.added(half + "\n"); len(got) != 1 || *got[0].ParentUUID != "u-2" {
		t.Errorf("added %+v", got)
	}
}

func TestASharedHistoryIsFound(t *testing.T) {
	t.Parallel()
	p := newPast(t, sharedDir, talk)
	if err := p.inject("s-1", "one"); err != nil {
		t.Error(err)
	}
	if err := os.Symlink(filepath.Join(p.home, sharedDir), filepath.Join(p.home, ".claude")); err != nil {
		t.Fatal(err)
	}
	if err := p.inject("s-1", "two"); err != nil {
		t.Errorf("linked: %v", err)
	}
	if got := p.added(talk); len(got) != 2 {
		t.Errorf("added %+v", got)
	}
}

func TestNothingIsInjectedWhereItWouldNotBeShown(t *testing.T) {
	t.Parallel()
	for what, is := range map[string]struct {
		id    string
		make  func(past) error
		lives bool
	}{
		"it runs": {"s-1", func(p past) error {
			p.write(filepath.Join(p.home, ".claude/sessions/1.json"), fmt.Sprintf(`{"pid":%d,"sessionId":"s-1"}`, os.Getpid()))
			return nil
		}, true},
		"it has two histories": {"s-1", func(p past) error {
			p.write(filepath.Join(p.home, sharedDir, "projects/-q/s-1.jsonl"), talk)
			return nil
		}, false},
		"it has no conversation": {"s-1", func(p past) error { return os.WriteFile(p.file, []byte("{}\nx"), 0o600) }, false},
		"it has no history":      {"s-2", nil, false},
		"it is no name":          {"../-p/s-1", nil, false},
		"a pipe stands there":    {"s-1", func(p past) error { return errors.Join(os.Remove(p.file), syscall.Mkfifo(p.file, 0o600)) }, false},
		"a link stands there": {"s-1", func(p past) error {
			return errors.Join(os.Rename(p.file, p.home+"/other"), os.Symlink(p.home+"/other", p.file))
		}, false},
	} {
		p := newPast(t, ".claude", talk)
		if is.make != nil {
			if err := is.make(p); err != nil {
				t.Fatal(err)
			}
		}
		err := p.inject(is.id, "INJECTED")
		if err == nil || errors.Is(err, wake.ErrLives) != is.lives {
			t.Errorf("%s: %v", what, err)
		}
		for _, file := range []string{p.file, p.home + "/other"} {
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if text, _ := os.ReadFile(file); strings.Contains(string(text), "INJECTED") {
				t.Errorf("%s: it was injected all the same", what)
			}
		}
	}
}

// The client leaves its record behind when it is killed.
func TestARecordOfAProcessThatIsGoneStopsNothing(t *testing.T) {
	t.Parallel()
	p := newPast(t, ".claude", talk)
	p.write(filepath.Join(p.home, ".claude/sessions/1.json"), `{"pid":2147483646,"sessionId":"s-1"}`)
	if err := p.inject("s-1", "one"); err != nil {
		t.Error(err)
	}
}

// Whatever stands in a history, the message is added behind it as one line that names the last one,
// or nothing is changed.
func FuzzInject(f *testing.F) {
	for _, text := range []string{talk, strings.TrimSuffix(talk, "\n"), talk + `{"uuid":"u-4","mess`, `{"uuid":7}`, `{"uuid":"u-1","message":[[`,
		strings.Repeat(`{"message":`, 11_000), `{"uuid":"` + strings.Repeat("u", 1<<16) + `"}`, strings.Repeat("x", 1<<16)} {
		f.Add([]byte(text), "hello")
	}
	f.Fuzz(func(t *testing.T, before []byte, text string) {
		file := filepath.Join(t.TempDir(), "s-1.jsonl")
		if err := os.WriteFile(file, before, 0o600); err != nil {
			t.Fatal(err)
		}
		last, whole, _ := leaf(bytes.NewReader(before))
		err := appendTo(file, wake.History{ID: "s-1", Text: text, Now: time.Unix(1, 0)})
		after, rerr := os.ReadFile(file)
		if rerr != nil {
			t.Fatal(rerr)
		}
		added, kept := bytes.CutPrefix(after, before)
		if !kept || err != nil && len(added) > 0 || (err == nil) != (last.UUID != "") {
			t.Fatalf("%v; added %q, kept %v; the last is %q", err, added, kept, last.UUID)
		}
		if err != nil {
			return
		}
		if !whole {
			added = bytes.TrimPrefix(added, []byte("\n"))
		}
		var own entry
		if err := json.Unmarshal(added, &own); err != nil || bytes.Count(added, []byte("\n")) != 1 || own.ParentUUID == nil || own.Message == nil {
			t.Fatalf("added %q, %v", added, err)
		}
		if got, whole, err := leaf(bytes.NewReader(after)); err != nil || !whole || got.UUID != own.UUID {
			t.Errorf("the last is now %q, %v, %v; want %q", got.UUID, whole, err, own.UUID)
		}
	})
}
