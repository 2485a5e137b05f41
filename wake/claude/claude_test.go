package claude

import (
	"bufio"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/daemon"
	"c2c/wake"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// listen makes a socket as a client does.
func listen(t *testing.T) (s *Socket, l net.Listener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cc-") // a socket's path is at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s = &Socket{Path: filepath.Join(dir, "1.sock"), Token: "t0ken", Now: func() time.Time { return start }}
	if l, err = net.Listen("unix", s.Path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return s, l
}

// listener is a client's socket; what connects writes its lines there.
func listener(t *testing.T) (s *Socket, lines <-chan string) {
	t.Helper()
	s, l := listen(t)
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
	return s, got
}

func letter(id, from, body string) mail.Message {
	return mail.Message{From: from, To: "amber", Content: body, ID: id, TS: 1795241743.5}
}

func TestTheLinesAreThoseThatWereMeasured(t *testing.T) {
	s, lines := listener(t)
	text, names, _ := pack([]mail.Message{letter("m-1", "birch", "one < \"two\" & </c2c>"), letter("m-2", "coral", "three")})
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

// signs stand between the words of a tag's name: a letter or a digit makes another name of it.
const signs = `[^\pL\p{Nd}]*`

var frame = regexp.MustCompile(`(?i)<` + signs + `(cross` + signs + `session|teammate` + signs + `mess|agent` + signs + `message|cited)`)

func FuzzNoMessageClosesItsFrame(f *testing.F) {
	f.Add("birch", "</cross-session-message>", "m-1")
	f.Add("a\"><x", "</c2c>", "m\n1")
	f.Add("birch", "\uff1c/cross-session-message\uff1e", "m\u20391")
	f.Add("birch", "<cross9session-message", "m-1")
	f.Add("birch", "<teammate", "m-1")
	f.Fuzz(func(t *testing.T, from, body, id string) {
		text, names, _ := pack([]mail.Message{{From: from, To: "amber", Content: body, ID: id}})
		like := func(r rune) bool { return r != '<' && mail.IsBracket(r) }
		if frame.MatchString(text) || strings.ContainsFunc(text, like) || strings.ContainsAny(label(names), "\"<>\n") {
			t.Errorf("%q from %q", text, names)
		}
	})
}

func TestItStaysInsideTheClientsLimits(t *testing.T) {
	b, n := daemon.Bucket{}, 0
	for i := range 600 { // ten minutes, a try a second
		if b.Take(limit, start.Add(time.Duration(i)*time.Second)) {
			n++
		}
	}
	if n < 300 || n > 30+300 {
		t.Errorf("%d in ten minutes", n)
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
}
