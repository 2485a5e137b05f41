package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/serve"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// clock is a time that the test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// lab is a daemon with the page, and a root in which a person and two sessions write.
type lab struct {
	t     *testing.T
	url   string
	files *atomicfile.Dir
	clock *clock
	b     *broker.Broker
	me    sessions.Session
	amber sessions.Session
	birch sessions.Session

	projects []Project // of the person
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, clock: &clock{at: time.Now()}}
	home := t.TempDir()
	state, err := atomicfile.Create(filepath.Join(home, "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	if l.files, err = state.Sub(serve.FilesDir, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.files.Close() })
	l.b = l.root(home)
	l.me = l.attach(callers.Caller{User: &callers.User{UID: os.Geteuid(), Login: "dana", Terminal: true}})
	l.amber = l.attach(callers.Caller{Client: "claude", ClientID: "a", Alias: "amber"})
	l.birch = l.attach(callers.Caller{Client: "codex", ClientID: "b", Alias: "birch"})
	page := New(Config{Files: l.files, Now: l.clock.now, Projects: func() []Project { return l.projects },
		List: func(ctx context.Context, root string) ([]sessions.Listed, error) {
			b, err := broker.Open(broker.Config{Root: root})
			if err != nil {
				return nil, err
			}
			defer b.Close()
			return b.List(ctx)
		}})
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] }
	server := serve.New(serve.Config{State: state, Port: serve.AnyPort, Getenv: getenv, Dir: home, Person: page.Person,
		Open:     func(root string) (*broker.Broker, error) { return broker.Open(broker.Config{Root: root}) },
		OpenHere: func(dir string) (*broker.Broker, error) { return broker.OpenHere(getenv, dir, broker.Config{}) }})
	server.Handle(page.Routes(server.OpenRoot)...)
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.url = strings.TrimSuffix(server.URL(), "/mcp")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lab) root(home string) *broker.Broker {
	l.t.Helper()
	path := filepath.Join(home, fmt.Sprint("root-", time.Now().UnixNano()))
	b, err := broker.Open(broker.Config{Root: path})
	if err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { b.Close() })
	return b
}

func (l *lab) attach(c callers.Caller) sessions.Session {
	l.t.Helper()
	s, err := l.b.Attach(l.t.Context(), c)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *lab) send(from sessions.Session, to, text string) string {
	l.t.Helper()
	r, err := l.b.Send(l.t.Context(), from, mail.Message{To: to, Content: text})
	if err != nil {
		l.t.Fatal(err)
	}
	return r.ID
}

func (l *lab) code(who Who) string {
	l.t.Helper()
	code, err := NewCode(l.files, who, l.clock.now())
	if err != nil {
		l.t.Fatal(err)
	}
	return code
}

func (l *lab) who() Who {
	return Who{Root: l.b.Root(), Dir: "/home/dana/app", UID: os.Geteuid(), Login: "dana"}
}

// tab is a tab of a browser.
type tab struct {
	l       *lab
	cookies map[string]string
	key     string
	header  http.Header
}

func (l *lab) tab() *tab { return &tab{l: l, cookies: map[string]string{}, header: http.Header{}} }

// loggedIn is a tab that has used a link.
func (l *lab) loggedIn() *tab {
	l.t.Helper()
	tab := l.tab()
	if status, body := tab.login(l.code(l.who())); status != http.StatusOK {
		l.t.Fatalf("%d %s", status, body)
	}
	return tab
}

func (tab *tab) login(code string) (status int, body string) {
	status, body = tab.do("POST", "/login", map[string]string{"code": code})
	var got struct{ Key string }
	if json.Unmarshal([]byte(body), &got) == nil && got.Key != "" {
		tab.key = got.Key
	}
	return status, body
}

func (tab *tab) request(method, path string, body any) *http.Response {
	tab.l.t.Helper()
	var data io.Reader
	if body != nil {
		data = bytes.NewReader(tab.json(body))
	}
	resp, err := http.DefaultClient.Do(tab.prepared(method, path, data))
	if err != nil {
		tab.l.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		if tab.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(tab.cookies, c.Name)
		}
	}
	return resp
}

func (tab *tab) json(v any) []byte {
	tab.l.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tab.l.t.Fatal(err)
	}
	return text
}

// prepared is a request with all that the tab sends along.
func (tab *tab) prepared(method, path string, data io.Reader) *http.Request {
	tab.l.t.Helper()
	r, err := http.NewRequestWithContext(tab.l.t.Context(), method, tab.l.url+path, data)
	if err != nil {
		tab.l.t.Fatal(err)
	}
	if data != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range tab.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if tab.key != "" {
		r.Header.Set(KeyHeader, tab.key)
	}
	for name, values := range tab.header {
		r.Header[name] = values
	}
	return r
}

func (tab *tab) do(method, path string, body any) (status int, text string) {
	tab.l.t.Helper()
	resp := tab.request(method, path, body)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tab.l.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// get asks for JSON that must be there.
func get[T any](tab *tab, method, path string, body any) (v T) {
	tab.l.t.Helper()
	status, text := tab.do(method, path, body)
	if status != http.StatusOK {
		tab.l.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		tab.l.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	return v
}

func TestThePageHasWordsForAllThatASessionDoes(t *testing.T) {
	data, err := static.ReadFile("static/page.js")
	if err != nil {
		t.Fatal(err)
	}
	_, words, _ := strings.Cut(string(data), "const doesWords = {")
	words, _, _ = strings.Cut(words, "}")
	for _, does := range []sessions.State{sessions.Busy, sessions.Idle, sessions.Waiting, sessions.Absent, sessions.Away, sessions.Person, sessions.External, sessions.Alive, sessions.Unknown} {
		if !strings.Contains(words, " "+string(does)+": '") {
			t.Errorf("none for %s in%s", does, words)
		}
	}
}

func TestTheFilesOfThePageAskNobodyElse(t *testing.T) {
	l := newLab(t)
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/login": "text/html; charset=utf-8", "/page.js": "text/javascript; charset=utf-8",
		"/page.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml"} {
		tab := l.tab()
		resp := tab.request("GET", path, nil)
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != kind || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Fatalf("%s: %d %q, %v", path, resp.StatusCode, resp.Header, err)
		}
		if got := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") ||
			!strings.Contains(got, "require-trusted-types-for 'script'") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", path, got)
		}
		// An address of another host could be asked, and what runs in the text would not be allowed
		// to.
		for _, bad := range []string{"https://", "src=\"//", "url(", "@import", "innerHTML", "insertAdjacent", "document.write", "eval(", "style=\"", " onclick="} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		tab.header.Set("If-None-Match", resp.Header.Get("ETag"))
		if status, body := tab.do("GET", path, nil); status != http.StatusNotModified || body != "" {
			t.Errorf("%s again: %d %q", path, status, body)
		}
	}
}
