package codex

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"c2c/e2e/waketest"
	"c2c/inbox"
	"c2c/wake"
)

// taking is a thread that takes what it gets when it is asked for a receipt, and works until then.
func taking(t *testing.T) waketest.Client {
	s := newAppServer(t)
	var proved atomic.Bool
	turns := make(chan string, 8)
	begin, listed := s.answers["turn/start"], s.answers["thread/items/list"]
	s.answers["turn/start"] = func(params map[string]any) string {
		text := params["input"].([]any)[0].(map[string]any)["text"].(string)
		pieces, _ := params["additionalContext"].(map[string]any)
		for _, piece := range pieces {
			text += "\n" + piece.(map[string]any)["value"].(string)
		}
		turns <- text
		return begin(params)
	}
	s.answers["thread/read"] = func(map[string]any) string {
		if s.started == nil || proved.Load() {
			return `{"thread":{"status":{"type":"idle"}}}`
		}
		return `{"thread":{"status":{"type":"active","activeFlags":[]}}}`
	}
	s.answers["thread/items/list"] = func(params map[string]any) string {
		if !proved.Load() {
			return `{"data":[]}`
		}
		return listed(params)
	}
	return waketest.Client{Bell: s.thread(), Next: func() string { return <-turns }, Receipt: func() { proved.Store(true) }}
}

// answering is a server that says this to a request.
func answering(method, said string) func(*testing.T) wake.Doorbell {
	return func(t *testing.T) wake.Doorbell {
		s := newAppServer(t)
		s.answer(method, said)
		return s.thread()
	}
}

func TestServer(t *testing.T) {
	waketest.Run(t, waketest.Adapter{
		Idle: taking,
		Gone: waketest.Bells{
			"no server":             func(t *testing.T) wake.Doorbell { return &Server{Home: t.TempDir(), Thread: "thread-1"} },
			"no app-server":         answering("initialize", `{"error":{"code":-32600,"message":"no"}}`),
			"it hangs up at once":   answering("initialize", hangUp),
			"it hangs up":           answering("thread/read", hangUp),
			"the thread is on disk": answering("thread/read", `{"thread":{"status":{"type":"notLoaded"}}}`),
			"no such thread":        answering("thread/read", `{"error":{"code":-32600,"message":"thread not loaded: thread-1"}}`),
			"nonsense":              answering("thread/read", `{"thread":"`+strings.Repeat("x", 5<<20)+`"}`),
			"others may replace its socket": func(t *testing.T) wake.Doorbell {
				s := newAppServer(t)
				s.answers["initialize"] = func(map[string]any) string {
					t.Error("it was asked")
					return hangUp
				}
				path, err := filepath.EvalSymlinks(filepath.Join(s.home, "app-server-control", "app-server-control.sock"))
				if err == nil {
					err = os.Chmod(filepath.Dir(path), 0o777)
				}
				if err != nil {
					t.Fatal(err)
				}
				return s.thread()
			},
		},
		Deaf: waketest.Bells{
			"a dialog":      answering("thread/read", `{"thread":{"status":{"type":"active","activeFlags":["waitingOnApproval"]}}}`),
			"an error":      answering("thread/read", `{"error":{"code":-32603,"message":"\u001b]0;internal\u0007"}}`),
			"it is refused": answering("turn/start", `{"error":{"code":-32602,"message":"input_too_large"}}`),
			"it hangs up":   answering("turn/start", hangUp), // it may have begun
			"no answer": func(t *testing.T) wake.Doorbell {
				s, over := newAppServer(t), make(chan struct{})
				t.Cleanup(func() { close(over) })
				s.answers["turn/start"] = func(map[string]any) string {
					<-over
					return hangUp
				}
				return s.thread()
			},
		},
		Carrier: func(bell wake.Doorbell, _ *inbox.Mailbox, _ string) wake.Carrier { return bell.(*Server) },
	})
}
