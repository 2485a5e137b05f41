package kimi

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"c2c/e2e/waketest"
	"c2c/wake"
)

// serve is a stand-in for `kimi web` with one session, which answers as given, and tells what it
// took.
func serve(t *testing.T, status int, answer string) (w *web, taken chan string) {
	t.Helper()
	taken = make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var body struct{ Content []struct{ Type, Text string } }
		err := json.NewDecoder(r.Body).Decode(&body)
		if err != nil || r.URL.Path != "/api/v1/sessions/session_1/prompts" || r.Header.Get("Authorization") != "Bearer t0ken" || len(body.Content) != 1 {
			t.Errorf("%v: %s %v %+v", err, r.URL, r.Header, body)
			return
		}
		out.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		out.WriteHeader(status)
		fmt.Fprint(out, answer)
		taken <- body.Content[0].Text
	}))
	t.Cleanup(s.Close)
	w = &web{config: t.TempDir(), session: "session_1", port: s.Listener.Addr().(*net.TCPAddr).Port}
	if err := os.WriteFile(filepath.Join(w.config, tokenFile), []byte("t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w, taken
}

func deaf(status int, answer string) func(*testing.T) wake.Doorbell {
	return func(t *testing.T) wake.Doorbell {
		w, _ := serve(t, status, answer)
		return w
	}
}

func TestWeb(t *testing.T) {
	const ok = `{"code":0,"msg":"success","data":{"status":"running"}}`
	waketest.Run(t, waketest.Adapter{
		Idle: func(t *testing.T) waketest.Client {
			w, taken := serve(t, http.StatusOK, ok)
			return waketest.Client{Bell: w, Next: func() string { return <-taken }}
		},
		Gone: waketest.Bells{
			"nobody listens": func(t *testing.T) wake.Doorbell {
				w, _ := serve(t, http.StatusOK, ok)
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				w.port = l.Addr().(*net.TCPAddr).Port
				l.Close()
				return w
			},
			"there is no token": func(t *testing.T) wake.Doorbell {
				w, _ := serve(t, http.StatusOK, ok)
				w.config = t.TempDir()
				return w
			},
		},
		Deaf: waketest.Bells{
			"it has no such session": deaf(http.StatusOK, `{"code":40401,"msg":"session does not exist"}`),
			"it refuses":             deaf(http.StatusUnauthorized, `{"code":0}`),
			"it sends us elsewhere":  deaf(http.StatusTemporaryRedirect, ok),
			"it is something else":   deaf(http.StatusOK, "<html>"),
		},
	})
}
