package outside

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/serve"
	"c2c/serve/live"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/permission"
)

// world is a root with a daemon.
type world struct {
	t     *testing.T
	dir   string
	root  string
	b     *broker.Broker
	store *permission.Store
	state *atomicfile.Dir
	write time.Duration

	url   string
	stop  func()
	ended chan string // why streams have ended that were not ended by their clients
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), write: time.Minute, ended: make(chan string, 100)}
	var err error
	if w.b, err = broker.Open(broker.Config{Root: filepath.Join(w.dir, "root")}); err != nil {
		t.Fatal(err)
	}
	w.root = w.b.Root()
	t.Cleanup(func() { w.b.Close() })
	w.store = permission.Open(w.b.Dir(), time.Now)
	if w.state, err = atomicfile.Create(filepath.Join(w.dir, "c2c")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.state.Close() })
	return w
}

// Sender knows each sender by its name, which is its token.
func (w *world) Sender(token string) (v serve.Visitor, ok bool) {
	return serve.Visitor{Kind: serve.Sender, Name: token, Root: w.root}, token == "ci" || token == "desk"
}

// serve starts a daemon, which ends with the test or with stop.
func (w *world) serve() {
	w.t.Helper()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": w.dir}[name] }
	s := serve.New(serve.Config{
		State: w.state, Port: serve.AnyPort, Getenv: getenv, Dir: w.dir, Sender: w.Sender,
		Limits:   serve.Limits{Streams: 2000}, // of which one sender has an eighth
		Open:     func(root string) (*broker.Broker, error) { return broker.Open(broker.Config{Root: root}) },
		OpenHere: func(string) (*broker.Broker, error) { return broker.Open(broker.Config{Root: w.root}) },
	})
	h := NewEvents(EventsConfig{OpenRoot: s.OpenRoot, Write: w.write, Heartbeat: time.Hour, Log: slog.New(toldOf{slog.DiscardHandler, w.ended}),
		Decides: func(name string) []string {
			if name == "desk" {
				return []string{"Amber"}
			}
			return nil
		}})
	s.Handle(h.Routes()...)
	if err := s.Listen(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.url = strings.Replace(s.URL(), "/mcp", "/events", 1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	done := false
	w.stop = func() {
		if cancel(); done {
			return
		}
		done = true
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(w.stop)
}

// toldOf gives on what a handler logs.
type toldOf struct {
	slog.Handler
	to chan<- string
}

func (t toldOf) Enabled(context.Context, slog.Level) bool { return true }

func (t toldOf) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	select {
	case t.to <- text:
	default: // nobody asks
	}
	return nil
}

func (w *world) session(alias string) sessions.Session {
	w.t.Helper()
	s, err := w.b.Register(w.t.Context(), callers.Caller{Explicit: alias, Client: "some-client", PID: os.Getpid()}, alias)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) outside(name string) sessions.Session {
	w.t.Helper()
	s, err := w.b.ExternalSession(w.t.Context(), name, sessions.ClientExternal)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) send(from sessions.Session, m mail.Message, o mail.Origin) string {
	w.t.Helper()
	r, err := w.b.SendExternal(w.t.Context(), from, m, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

func (w *world) box(s sessions.Session) *inbox.Mailbox {
	w.t.Helper()
	box, err := w.b.Mailbox(s.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return box
}

// answer writes an answer of an agent to a sender.
func (w *world) answer(from, to sessions.Session, id, text string) {
	w.t.Helper()
	w.send(from, mail.Message{To: to.Alias, ID: id, Content: text}, mail.Origin{ChatID: "7"})
}

// answers writes many at once, each of so many bytes, and gives their ids.
func (w *world) answers(from, to sessions.Session, count, size int) (ids []string) {
	w.t.Helper()
	box := w.box(to)
	var all []mail.Message
	for i := range count {
		ids = append(ids, fmt.Sprint("m-", i))
		all = append(all, mail.Message{From: from.Alias, To: to.Alias, ID: ids[i], Content: strings.Repeat("x", size)})
	}
	if _, err := box.Deliver(w.t.Context(), all...); err != nil {
		w.t.Fatal(err)
	}
	return ids
}

func (w *world) status(id string) broker.MessageStatus {
	w.t.Helper()
	st, err := w.b.Status(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// stream is what a client reads.
type stream struct {
	w    *world
	r    *bufio.Reader
	body io.Closer
	id   string // of the last event
}

func (w *world) get(who, query, after string) *http.Response {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", w.url+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+who)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// listen opens a stream; after is the id of the last event that the client has had.
func (w *world) listen(who, after string) *stream {
	w.t.Helper()
	resp := w.get(who, "", after)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("status %d, %q", resp.StatusCode, resp.Header)
	}
	s := &stream{w: w, r: bufio.NewReader(resp.Body), body: resp.Body}
	if name, _ := s.next(); name != "hello" {
		w.t.Fatalf("the first event is %q", name)
	}
	return s
}

// next reads an event. Comments and ids alone are none.
func (s *stream) next() (name string, data map[string]any) {
	s.w.t.Helper()
	text := ""
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			s.w.t.Fatalf("the stream has ended: %v", err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			s.id = value
		case "event":
			name = value
		case "data":
			text += value
		case "":
			if name == "" {
				continue
			}
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				s.w.t.Fatalf("event %s: %q: %v", name, text, err)
			}
			return name, data
		}
	}
}

// want waits for the next event of one of the names, and gives it.
func (s *stream) want(names ...string) (data map[string]any) {
	s.w.t.Helper()
	for {
		if name, data := s.next(); slices.Contains(names, name) {
			return data
		}
	}
}

// replies reads so many, and gives their ids.
func (s *stream) replies(n int) (ids []string) {
	s.w.t.Helper()
	for range n {
		ids = append(ids, s.want("reply")["message_id"].(string))
	}
	return ids
}

func wantIDs(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// marked reads up to an id that stands alone.
func (s *stream) marked() {
	s.w.t.Helper()
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			s.w.t.Fatalf("the stream has ended: %v", err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			s.id = strings.TrimSuffix(id, "\n")
			if next, err := s.r.ReadString('\n'); err == nil && next == "\n" {
				return
			}
		}
	}
}

// handed waits until a message is in the archive of a sender.
func (w *world) handed(to sessions.Session, id string) {
	w.t.Helper()
	box, found := w.box(to), errors.New("found")
	err := live.New(w.b, 0).Run(w.t.Context(), func(live.Update) error {
		all, err := box.Archive().History(w.t.Context(), 100)
		if slices.ContainsFunc(all, func(a inbox.ArchiveRecord) bool { return a.ID == id }) {
			err = found
		}
		return err
	})
	if err != found {
		w.t.Fatal(err)
	}
}
