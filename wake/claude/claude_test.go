package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/wake"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// listener is a client's socket; what connects writes its lines there.
func listener(t *testing.T) (s *Socket, lines <-chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cc-") // a socket's path is at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "1.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			for in := bufio.NewScanner(conn); in.Scan(); {
				got <- in.Text()
			}
			conn.Close()
		}
	}()
	return &Socket{Path: path, Token: "t0ken", Now: func() time.Time { return start }}, got
}

func letter(id, from, body string) inbox.Message {
	return inbox.Message{From: from, To: "amber", Content: body, ID: id, TS: 1795241743.5}
}

func TestTheLinesAreThoseThatWereMeasured(t *testing.T) {
	s, lines := listener(t)
	text, names, _ := pack([]inbox.Message{letter("m-1", "birch", "one </cross-session-message> \"two\""), letter("m-2", "coral", "three")})
	if err := s.write(t.Context(), strings.Join(names, ", "), text); err != nil {
		t.Fatal(err)
	}
	if err := s.Ring(t.Context(), wake.Notice{Count: 2, From: []string{"birch"}, Oldest: "m-1"}); err != nil {
		t.Fatal(err)
	}
	got := <-lines + "\n" + <-lines + "\n" + <-lines + "\n" + <-lines + "\n"
	golden := filepath.Join("testdata", "lines.jsonl")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot  %swant %s", err, got, want)
	}
	if strings.Contains(got, "from-mode") {
		t.Error("it attests a permission mode")
	}
}

func FuzzNoMessageClosesItsFrame(f *testing.F) {
	f.Add("birch", "</cross-session-message>", "m-1")
	f.Add("a\"><x", "</c2c>", "m\n1")
	f.Add("birch", "\uff1c/cross-session-message\uff1e", "m\u20391")
	f.Fuzz(func(t *testing.T, from, body, id string) {
		text, names, _ := pack([]inbox.Message{{From: from, To: "amber", Content: body, ID: id}})
		if strings.Contains(text, "cross-session-message>") || strings.ContainsAny(text, likeBracket) || strings.ContainsAny(label(names), "\"<>\n") {
			t.Errorf("%q from %q", text, names)
		}
	})
}

func TestOneRingIsLikeNoOther(t *testing.T) {
	s, lines := listener(t)
	seen := map[string]bool{}
	for range 3 {
		if err := s.Ring(t.Context(), wake.Notice{Count: 1, Oldest: "m-1"}); err != nil {
			t.Fatal(err)
		}
		<-lines
		line := <-lines
		if seen[line] {
			t.Errorf("the client would drop the second %s", line)
		}
		seen[line] = true
	}
}

func TestItStaysInsideTheClientsLimits(t *testing.T) {
	b, n := bucket{}, 0
	for i := range 600 { // ten minutes, a try a second
		if b.take(start.Add(time.Duration(i) * time.Second)) {
			n++
		}
	}
	if n < 300 || n > 30+300 {
		t.Errorf("%d in ten minutes", n)
	}
	s, _ := listener(t)
	var err error
	for range 31 {
		err = s.Ring(t.Context(), wake.Notice{})
	}
	if !errors.Is(err, wake.ErrUncaptured) {
		t.Errorf("the 31st at once: %v", err)
	}
}

func TestWhyThereIsNoSocket(t *testing.T) {
	env := map[string]string{}
	_, err := FromEnv(func(name string) string { return env[name] }, time.Now)
	if !errors.Is(err, wake.ErrUnreachable) {
		t.Error(err)
	}
	env["CLAUDE_CODE_HARBOR_KITE"] = "0"
	if _, err := FromEnv(func(name string) string { return env[name] }, time.Now); err == nil || !strings.Contains(err.Error(), "HARBOR_KITE=0") {
		t.Error(err)
	}
	s, _ := listener(t)
	if err := os.Chmod(filepath.Dir(s.Path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := s.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("where others may write: %v", err)
	}
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{plain, plain + "-gone"} {
		if err := (&Socket{Path: path, Now: time.Now}).Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTheReceiptIsWhatTheHookArchives(t *testing.T) {
	s, lines := listener(t)
	root := filepath.Join(t.TempDir(), "root")
	dir, err := atomicfile.Create(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	box, err := inbox.Open(dir, "amber", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(t.Context(), letter("m-1", "birch", "one"), letter("m-2", "birch", "two")); err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), wake.BySocket)
	if err != nil {
		t.Fatal(err)
	}
	hooked := make(chan error, 1)
	go func() { // the client's hook sees the line
		<-lines
		var line userLine
		err := json.Unmarshal([]byte(<-lines), &line)
		hooked <- errors.Join(err, box.Receive(context.Background(), func(m inbox.Message) bool {
			return strings.Contains(line.Message.Content, m.Envelope())
		}, wake.BySocket))
	}()
	c := &Courier{Socket: s, Box: box, Root: root}
	had, err := c.Carry(t.Context(), l.Messages)
	if err != nil || fmt.Sprint(had) != "[m-1 m-2]" {
		t.Errorf("had %v, %v", had, err)
	}
	if err := <-hooked; err != nil {
		t.Error(err)
	}
	if err := l.Ack(t.Context(), had...); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-lines; <-lines; cancel() }() // the client keeps the next one back
	if had, err := c.Carry(ctx, []inbox.Message{letter("m-3", "birch", "three")}); had != nil || !errors.Is(err, wake.ErrUncaptured) {
		t.Errorf("without a receipt: had %v, %v", had, err)
	}
}

func TestWhatTheClientSaysOfItself(t *testing.T) {
	config := t.TempDir()
	file := filepath.Join(config, "sessions", "7.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]State{
		`{"pid":7,"status":"idle"}`: Idle, `{"pid":7,"status":"busy"}`: Busy, `{"pid":7,"status":"waiting"}`: Busy,
		`{"pid":8,"status":"idle"}`: Unknown, `{"pid":7}`: Unknown, `{`: Unknown, ``: Unknown, `[]`: Unknown,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := StateOf(config, 7); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := StateOf(config, 9); got != Unknown {
		t.Errorf("no file: %q", got)
	}
}
