package codex

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"c2c/inbox"
	"c2c/wake"
)

// appServer is a stand-in that answers by method, and keeps what it was asked.
type appServer struct {
	t       *testing.T
	home    string
	answers map[string]func(params map[string]any) string // JSON of result, or of an error in {"error":…}
	asked   []string
	started map[string]any
}

func newAppServer(t *testing.T) *appServer {
	t.Helper()
	s := &appServer{t: t, home: t.TempDir(), answers: map[string]func(map[string]any) string{}}
	s.answer("initialize", `{}`)
	s.answer("thread/read", `{"thread":{"status":{"type":"idle"}}}`)
	s.answers["turn/start"] = func(params map[string]any) string {
		s.started = params
		return `{"turn":{}}`
	}
	s.answers["thread/items/list"] = func(map[string]any) string {
		return `{"data":[{"item":{"type":"agentMessage"}},{"item":{"type":"userMessage","clientId":"` + s.started["clientUserMessageId"].(string) + `"}}]}`
	}
	dir := filepath.Join(s.home, "app-server-control")
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
	srv := &http.Server{Handler: http.HandlerFunc(s.serve)}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return s
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
		// Noise that a client must pass over: a notification, and a request for an approval with our id.
		ws.Write(r.Context(), websocket.MessageText, []byte(`{"method":"thread/status/changed","params":{}}`))
		ws.Write(r.Context(), websocket.MessageText, []byte(`{"id":`+string(req.ID)+`,"method":"item/commandExecution/requestApproval","params":{}}`))
		answer := `{"id":` + string(req.ID) + `,"result":` + f(req.Params) + `}`
		if strings.HasPrefix(f(req.Params), `{"error"`) {
			answer = `{"id":` + string(req.ID) + `,` + f(req.Params)[1:]
		}
		ws.Write(r.Context(), websocket.MessageText, []byte(answer))
	}
}

func letters(bodies ...string) (msgs []inbox.Message) {
	for i, b := range bodies {
		msgs = append(msgs, inbox.Message{From: "birch", To: "amber", Content: b, ID: string(rune('a' + i)), TS: 1.5})
	}
	return msgs
}

func TestCarriesAsUntrustedContextAndWaitsForTheReceipt(t *testing.T) {
	s := newAppServer(t)
	had, err := (&Server{s.home, "thread-1"}).Carry(t.Context(), letters("one", "two"))
	if err != nil || strings.Join(had, "") != "ab" {
		t.Fatalf("had %q, %v", had, err)
	}
	context := s.started["additionalContext"].(map[string]any)["c2c"].(map[string]any)
	value := context["value"].(string)
	if context["kind"] != "untrusted" || !strings.Contains(value, "\none\n") || !strings.Contains(value, "\ntwo\n") {
		t.Errorf("context %v", context)
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
	had, err := (&Server{s.home, "thread-1"}).Carry(t.Context(), letters(strings.Repeat("é", 2000), strings.Repeat("x", 2000), "three"))
	if err != nil || strings.Join(had, "") != "a" {
		t.Errorf("had %q, %v", had, err)
	}
	if visible := s.started["input"].([]any)[0].(map[string]any)["text"].(string); !strings.Contains(visible, "2 more wait") {
		t.Errorf("line %q", visible)
	}
	had, err = (&Server{s.home, "thread-1"}).Carry(t.Context(), letters(strings.Repeat("x", 5000)))
	if err != nil || had != nil || s.started["additionalContext"] != nil {
		t.Errorf("too long: had %q, %v, %v", had, err, s.started)
	}
}

func TestNoReceiptIsNoHandOver(t *testing.T) {
	s := newAppServer(t)
	s.answer("thread/items/list", `{"data":[]}`)
	ctx, cancel := context.WithCancel(t.Context())
	looked := 0
	s.answers["thread/items/list"] = func(map[string]any) string {
		if looked++; looked == 2 {
			cancel()
		}
		return `{"data":[]}`
	}
	had, err := (&Server{s.home, "thread-1"}).Carry(ctx, letters("one"))
	if had != nil || !errors.Is(err, wake.ErrUncaptured) {
		t.Errorf("had %q, %v", had, err)
	}
}

func TestWhyItCannotBeRung(t *testing.T) {
	for _, tc := range []struct {
		method, result string
		want           error
	}{
		{"thread/read", `{"thread":{"status":{"type":"notLoaded"}}}`, wake.ErrUnreachable},
		{"thread/read", `{"thread":{"status":{"type":"active","activeFlags":["waitingOnApproval"]}}}`, wake.ErrUncaptured},
		{"thread/read", `{"error":{"code":-32600,"message":"no such thread"}}`, wake.ErrUncaptured},
		{"turn/start", `{"error":{"code":-32602,"message":"input_too_large"}}`, wake.ErrUncaptured},
		{"thread/read", `{"thread":"` + strings.Repeat("x", 5<<20) + `"}`, wake.ErrUnreachable},
		{"initialize", `{"error":{"code":-32600,"message":"no"}}`, nil},
	} {
		s := newAppServer(t)
		s.answer(tc.method, tc.result)
		err := (&Server{s.home, "thread-1"}).Ring(t.Context(), wake.Notice{Count: 1, From: []string{"birch"}, Oldest: "a"})
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s answers %.60s: %v, want %v", tc.method, tc.result, err, tc.want)
		}
	}
	if err := (&Server{t.TempDir(), "thread-1"}).Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("without a server: %v", err)
	}
}

func TestASocketThatOthersMayReplaceIsNotUsed(t *testing.T) {
	s := newAppServer(t)
	path, err := filepath.EvalSymlinks(filepath.Join(s.home, "app-server-control", "app-server-control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := (&Server{s.home, "thread-1"}).Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) || len(s.asked) > 0 {
		t.Errorf("%v; asked %q", err, s.asked)
	}
}
