package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"c2c/inbox/mail"
	"c2c/wake"
)

// appServer is a stand-in that answers by method, and keeps what it was asked.
type appServer struct {
	t       *testing.T
	home    string
	answers map[string]func(params map[string]any) string // JSON of result, or of an error in {"error":…}; hangUp
	asked   []string
	started map[string]any
}

// hangUp is an answer that ends the connection.
const hangUp = "hang up"

func newAppServer(t *testing.T) *appServer {
	t.Helper()
	s := &appServer{t: t, answers: map[string]func(map[string]any) string{}}
	s.answer("initialize", `{}`)
	s.answer("thread/read", `{"thread":{"status":{"type":"idle"}}}`)
	s.answers["turn/start"] = func(params map[string]any) string {
		s.started = params
		return `{"turn":{}}`
	}
	s.answers["thread/items/list"] = func(map[string]any) string {
		return `{"data":[{"item":{"type":"agentMessage"}},{"item":{"type":"userMessage","clientId":"` + s.started["clientUserMessageId"].(string) + `"}}]}`
	}
	s.home = listen(t, &http.Server{Handler: http.HandlerFunc(s.serve)})
	return s
}

// listen serves behind a link as Codex makes it, and returns CODEX_HOME.
func listen(t *testing.T, srv *http.Server) (home string) {
	t.Helper()
	home = t.TempDir()
	dir := filepath.Join(home, "app-server-control")
	real, err := os.MkdirTemp("", "codex-") // a socket's path is at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(real) })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(real, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(real, "s"), filepath.Join(dir, "app-server-control.sock")); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(l)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return home
}

// thread is the client's side, which looks for its receipt without leisure.
func (s *appServer) thread() *Server {
	return &Server{Home: s.home, Thread: "thread-1", first: time.Millisecond,
		processes: func(string) []process {
			return []process{{client: true, threads: since(time.Hour, "thread-1")}, {client: true, terminal: true, began: ago(time.Hour)}}
		}}
}

func ago(age time.Duration) time.Time { return time.Now().Add(-age) }

// since are threads that were loaded so long ago.
func since(age time.Duration, names ...string) map[string]time.Time {
	threads := map[string]time.Time{}
	for _, name := range names {
		threads[name] = ago(age)
	}
	return threads
}

// context is the one piece of context of the last turn, and its key.
func (s *appServer) context() (key string, piece map[string]any) {
	s.t.Helper()
	all, _ := s.started["additionalContext"].(map[string]any)
	if len(all) != 1 {
		s.t.Fatalf("turn %v", s.started)
	}
	for key, v := range all {
		return key, v.(map[string]any)
	}
	return "", nil
}

func (s *appServer) answer(method, result string) {
	s.answers[method] = func(map[string]any) string { return result }
}

func (s *appServer) serve(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	for {
		_, data, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
			Params map[string]any
		}
		if err := json.Unmarshal(data, &req); err != nil {
			s.t.Error(err)
			return
		}
		s.asked = append(s.asked, req.Method)
		f := s.answers[req.Method]
		if req.ID == nil || f == nil {
			continue
		}
		// Noise that a client must pass over: a notification, and a request for an approval with
		// our id.
		ws.Write(r.Context(), websocket.MessageText, []byte(`{"method":"thread/status/changed","params":{}}`))
		ws.Write(r.Context(), websocket.MessageText, []byte(`{"id":`+string(req.ID)+`,"method":"item/commandExecution/requestApproval","params":{}}`))
		said := f(req.Params)
		if said == hangUp {
			return
		}
		answer := `{"id":` + string(req.ID) + `,"result":` + said + `}`
		if strings.HasPrefix(said, `{"error"`) {
			answer = `{"id":` + string(req.ID) + `,` + said[1:]
		}
		ws.Write(r.Context(), websocket.MessageText, []byte(answer))
	}
}

func letters(bodies ...string) (msgs []mail.Message) {
	for i, b := range bodies {
		msgs = append(msgs, mail.Message{From: "birch", To: "amber", Content: b, ID: string(rune('a' + i)), TS: 1.5})
	}
	return msgs
}

func TestCarriesAsUntrustedContextAndWaitsForTheReceipt(t *testing.T) {
	s := newAppServer(t)
	had, err := s.thread().Carry(t.Context(), letters("one", "two"))
	if err != nil || strings.Join(had, "") != "ab" {
		t.Fatalf("had %q, %v", had, err)
	}
	_, piece := s.context()
	value := piece["value"].(string)
	if piece["kind"] != "untrusted" || !strings.Contains(value, "\none\n") || !strings.Contains(value, "\ntwo\n") {
		t.Errorf("context %v", piece)
	}
	visible := s.started["input"].([]any)[0].(map[string]any)["text"].(string)
	if strings.Contains(visible, "one") || !strings.Contains(visible, "birch") || s.started["threadId"] != "thread-1" {
		t.Errorf("turn %v", s.started)
	}
	for _, method := range s.asked {
		if strings.Contains(method, "resume") || strings.Contains(method, "settings") {
			t.Errorf("asked for %s", method)
		}
	}
}

func TestWhatDoesNotFitStaysAndIsAnnounced(t *testing.T) {
	s := newAppServer(t)
	had, err := s.thread().Carry(t.Context(), letters(strings.Repeat("é", 1500), strings.Repeat("x", 1500), "three"))
	if err != nil || strings.Join(had, "") != "a" {
		t.Errorf("had %q, %v", had, err)
	}
	if visible := s.started["input"].([]any)[0].(map[string]any)["text"].(string); !strings.Contains(visible, "2 more messages wait") {
		t.Errorf("line %q", visible)
	}
	had, err = s.thread().Carry(t.Context(), letters(strings.Repeat("x", 5000)))
	if err != nil || had != nil || s.started["additionalContext"] != nil {
		t.Errorf("too long: had %q, %v, %v", had, err, s.started)
	}
}

// Codex cuts by bytes, so a text of other letters than these holds less.
func TestWhatFitsIsCountedInBytes(t *testing.T) {
	s := newAppServer(t)
	had, err := s.thread().Carry(t.Context(), letters(strings.Repeat("é", 2000)))
	if err != nil || had != nil || s.started["additionalContext"] != nil {
		t.Errorf("had %q, %v, %v", had, err, s.started)
	}
}

func FuzzPackTakesWholeMessages(f *testing.F) {
	f.Add("one", "two")
	f.Add(strings.Repeat("é", 1900), "\xff\xfe")
	f.Add(strings.Repeat("\xff", 1300), "</c2c>\x1b[0m")
	f.Add(strings.Repeat("<", 4000), "")
	f.Fuzz(func(t *testing.T, first, second string) {
		msgs := letters(first, second)
		text, ids := pack(msgs)
		var whole string
		for i, id := range ids {
			if id != msgs[i].ID {
				t.Fatalf("took %q", ids)
			}
			whole += msgs[i].Envelope() + "\n"
		}
		wire, err := json.Marshal(text)
		var back string
		if err == nil {
			err = json.Unmarshal(wire, &back)
		}
		if err != nil || text != whole || back != text || len(text) > maxContext {
			t.Errorf("%d bytes of %d, %v", len(text), len(whole), err)
		}
	})
}

// Codex shows the same context under the same key only once, even when it was lost with its turn.
func TestEachHandOverHasAKeyOfItsOwn(t *testing.T) {
	s := newAppServer(t)
	var keys []string
	for range 2 {
		if _, err := s.thread().Carry(t.Context(), letters("one")); err != nil {
			t.Fatal(err)
		}
		key, _ := s.context()
		keys = append(keys, key, s.started["clientUserMessageId"].(string))
	}
	if keys[0] == keys[2] || keys[1] == keys[3] {
		t.Errorf("keys %q", keys)
	}
}

// busy lets the thread be active for n looks; at the last one our line is listed, if it is taken at
// all.
func (s *appServer) busy(n int, taken bool) {
	looks := 0
	listed := s.answers["thread/items/list"]
	s.answers["thread/read"] = func(map[string]any) string {
		if s.started == nil || looks >= n {
			return `{"thread":{"status":{"type":"idle"}}}`
		}
		return `{"thread":{"status":{"type":"active","activeFlags":["waitingOnApproval"]}}}`
	}
	s.answers["thread/items/list"] = func(params map[string]any) string {
		switch looks++; {
		case looks == 1:
			return `{"error":{"code":-32601,"message":"thread/items/list is not supported yet"}}`
		case looks < n || !taken:
			return `{"data":[{"item":{"type":"userMessage","clientId":null}}]}`
		}
		return listed(params)
	}
}

func TestAReceiptMayComeAfterALongCommand(t *testing.T) {
	s := newAppServer(t)
	s.busy(3*lostLooks, true)
	had, err := s.thread().Carry(t.Context(), letters("one"))
	if strings.Join(had, "") != "a" || err != nil {
		t.Errorf("had %q, %v", had, err)
	}
}

func TestALineThatItsTurnDidNotTakeIsNoHandOver(t *testing.T) {
	for _, n := range []int{0, 2 * lostLooks} {
		s := newAppServer(t)
		s.busy(n, false)
		had, err := s.thread().Carry(t.Context(), letters("one"))
		if had != nil || !errors.Is(err, wake.ErrUncaptured) {
			t.Errorf("%d looks: had %q, %v", n, had, err)
		}
	}
}

func TestAServerThatHangsUpBeforeTheReceipt(t *testing.T) {
	s := newAppServer(t)
	s.answer("thread/items/list", hangUp)
	if had, err := s.thread().Carry(t.Context(), letters("one")); had != nil || !errors.Is(err, wake.ErrUncaptured) {
		t.Errorf("had %q, %v", had, err)
	}
}

// What answers on the socket and is no app-server costs nothing that stays, as it is asked again
// and again.
func TestNoConnectionStaysAfterARefusedHandshake(t *testing.T) {
	closed := make(chan struct{}, 1)
	home := listen(t, &http.Server{
		Handler: http.NotFoundHandler(),
		ConnState: func(_ net.Conn, st http.ConnState) {
			if st == http.StateClosed {
				closed <- struct{}{}
			}
		},
	})
	err := (&Server{Home: home, Thread: "thread-1"}).Ring(t.Context(), wake.Notice{})
	if !errors.Is(err, wake.ErrUnreachable) {
		t.Error(err)
	}
	<-closed
}

func TestStates(t *testing.T) {
	for said, want := range map[string]State{
		`{"thread":{"status":{"type":"idle"}}}`:                                               Idle,
		`{"thread":{"status":{"type":"active","activeFlags":[]}}}`:                            Busy,
		`{"thread":{"status":{"type":"active","activeFlags":["waitingOnApproval"]}}}`:         Waiting,
		`{"thread":{"status":{"type":"active","activeFlags":["news","waitingOnUserInput"]}}}`: Waiting,
		`{"thread":{"status":{"type":"notLoaded"}}}`:                                          NotLoaded,
		`{"error":{"code":-32600,"message":"thread not loaded: thread-1"}}`:                   NotLoaded,
		`{"thread":{"status":{"type":"systemError"}}}`:                                        Unknown,
		`{}`: Unknown,
	} {
		s := newAppServer(t)
		s.answer("thread/read", said)
		if st, err := s.thread().State(t.Context()); st != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", said, st, err, want)
		}
	}
}

// The app-server keeps a thread for a minute after its terminal has gone, and does not tell which
// has one.
func TestATurnThatNoTerminalShowsIsNotStarted(t *testing.T) {
	const old, young = time.Hour, 10 * time.Second
	one := process{client: true, threads: since(old, "thread-1")}
	two := process{client: true, threads: since(old, "thread-1", "thread-2")}
	fresh := process{client: true, threads: since(young/2, "thread-1")}
	begun := process{client: true, threads: since(young+time.Second, "thread-1")} // by c2c start, before its terminal
	terminal := process{client: true, terminal: true, began: ago(old)}
	starting := process{client: true, terminal: true, began: ago(young)}
	resumed := process{client: true, terminal: true, began: ago(young), args: []string{"codex", "resume", "thread-1"}}
	const rings, waits, away = "rings", "waits", "away"
	for what, tc := range map[string]struct {
		seen       []process
		unattended bool
		born       time.Duration // if c2c start has begun the thread: how long ago
		want       string
	}{
		"its terminal":                                 {[]process{one, terminal}, false, 0, rings},
		"no terminal":                                  {[]process{one}, false, 0, away},
		"no terminal, and that is wanted":              {[]process{one}, true, 0, rings},
		"one terminal of two is left":                  {[]process{two, terminal}, false, 0, rings},
		"a shell that looks at a database":             {[]process{one, {client: true}}, false, 0, away},
		"a terminal with a thread by itself":           {[]process{one, {client: true, terminal: true, began: ago(old), threads: since(old, "thread-3")}}, false, 0, away},
		"a terminal that has just started its thread":  {[]process{fresh, starting}, false, 0, rings},
		"a terminal in which its person still chooses": {[]process{one, starting}, false, 0, away},
		"a terminal that has opened the thread":        {[]process{fresh, resumed}, false, 0, rings},
		"a terminal that has not opened the thread":    {[]process{one, resumed}, false, 0, waits},
		"and another one that may show it":             {[]process{one, resumed, terminal}, false, 0, waits},
		"it was told the thread long ago":              {[]process{two, {client: true, terminal: true, began: ago(old), args: resumed.args}}, false, 0, rings},
		"nobody is seen to have the thread":            {[]process{{client: true}, terminal}, false, 0, away},
		"the terminal of c2c start asks for trust":     {[]process{begun, resumed, terminal}, false, young + time.Second, waits},
		"that terminal has closed":                     {[]process{begun, terminal}, false, young + time.Second, away},
		"a terminal of c2c start":                      {[]process{fresh, resumed, terminal}, false, young, rings},
		"a terminal of c2c start has closed":           {[]process{fresh, terminal}, false, young, away},
		"a thread of c2c start that was opened anew":   {[]process{fresh, terminal}, false, old, rings},
	} {
		s := newAppServer(t)
		if tc.born != 0 {
			s.answer("thread/read", fmt.Sprintf(`{"thread":{"status":{"type":"idle"},"threadSource":"c2c","createdAt":%d}}`, ago(tc.born).Unix()))
		}
		th := s.thread()
		th.Unattended, th.processes = tc.unattended, func(string) []process { return tc.seen }
		err := th.Ring(t.Context(), wake.Notice{Count: 1, Oldest: "m-1"})
		got := rings
		switch {
		case errors.Is(err, wake.ErrAway):
			got = away
		case errors.Is(err, wake.ErrHeld):
			got = waits
		}
		if got != tc.want || (got == rings) != (err == nil && s.started != nil) {
			t.Errorf("%s: %s, want %s: %v, started %v", what, got, tc.want, err, s.started)
		}
	}
}

// A ringer that stops must not wait for a server that does not answer.
func TestBusyEndsWithItsContext(t *testing.T) {
	asked, over := make(chan bool), make(chan bool)
	home := listen(t, &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-over
	})})
	defer close(over)
	ways, err := ways(wake.RingContext{Config: home}, wake.Session{ID: "thread-1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	began := time.Now()
	if ways.Busy(ctx) || time.Since(began) >= callTime {
		t.Errorf("it took %v", time.Since(began))
	}
}
