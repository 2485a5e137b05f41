package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// again makes a server that listens with the same files.
func (f *face) again(port int) (*Server, error) {
	cfg := f.config(Limits{})
	cfg.Port = port
	s := New(cfg)
	err := s.Listen(f.t.Context())
	if err == nil {
		f.t.Cleanup(func() { s.closeListeners() })
	}
	return s, err
}

// published reads where the server says that it listens.
func (f *face) published() (at At, err error) {
	text, err := f.state.Read(urlFile)
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	return at, err
}

// A crash leaves the port file.
func TestTheNextServerRemovesTheFileOfOneThatWasKilled(t *testing.T) {
	f := newFace(t, Limits{})
	if at, err := f.published(); err != nil || at.Port != f.s.port {
		t.Fatalf("%+v, %v", at, err)
	}
	if _, err := f.again(f.s.port); !errors.As(err, new(*TakenError)) {
		t.Errorf("%v", err)
	}
	if at, err := f.published(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", at, err)
	}
}

func TestThePortAndTheTokenStay(t *testing.T) {
	f := newFace(t, Limits{})
	port, token := f.s.port, f.token()
	at, err := f.published()
	if err != nil || at.Port != port || at.PID != os.Getpid() || at.URL != "http://127.0.0.1:"+strconv.Itoa(port)+"/mcp" || at.Dir != f.home {
		t.Errorf("%+v, %v", at, err)
	}
	for _, name := range []string{urlFile, tokenFile} {
		if info, err := f.state.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := f.again(LastPort); !errors.As(err, new(*TakenError)) {
		t.Errorf("a second one at the port: %v", err)
	}
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.published(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
	s, err := f.again(LastPort)
	if err != nil || s.port != port || f.token() != token {
		t.Errorf("port %d, was %d; the same token: %v; %v", s.port, port, f.token() == token, err)
	}
}

// The next one takes the port at once. On a busy machine this one may not have begun to accept when
// it is told to end.
func TestThePortIsFreeWhenTheServerHasEnded(t *testing.T) {
	f := newFace(t, Limits{})
	ended, end := context.WithCancel(context.Background())
	end()
	var busy sync.WaitGroup
	defer busy.Wait()
	var over atomic.Bool
	defer over.Store(true)
	for range 2 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for !over.Load() {
			}
		})
	}
	for range 5 {
		s, err := f.again(AnyPort)
		if err != nil {
			t.Fatal(err)
		}
		if s.port >= 32768 {
			t.Errorf("port %d is one that the system gives to connections", s.port)
		}
		if err := s.Run(ended); err != nil {
			t.Fatal(err)
		}
		for _, l := range s.listeners {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				t.Fatalf("it listens at %s although it has ended; %v", l.Addr(), err)
			}
		}
	}
}

// "localhost" may lead to ::1, where somebody else would get the token.
func TestAPortThatSomebodyElseHasIsNotTaken(t *testing.T) {
	f := newFace(t, Limits{})
	for _, host := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("%s: %v", host, err) // no IPv6
			continue
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if _, err := f.again(port); !errors.As(err, new(*TakenError)) {
			t.Errorf("%s: %v", host, err)
		}
		if at, err := f.published(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it says that it listens: %+v, %v", host, at, err)
		}
	}
}

func TestOnlyThisMachineIsListenedOn(t *testing.T) {
	f := newFace(t, Limits{})
	for _, l := range f.s.listeners {
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("it listens on %s", ip)
		}
	}
}

func TestATokenThatOthersMayReadIsRefused(t *testing.T) {
	f := newFace(t, Limits{})
	path := TokenFile(f.state)
	for what, spoil := range map[string]func() error{
		"others may read it": func() error { return os.Chmod(path, 0o644) },
		"empty":              func() error { return os.WriteFile(path, nil, 0o600) },
		"short":              func() error { return os.WriteFile(path, []byte("abc\n"), 0o600) },
		"a link":             func() error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := MakeToken(f.state); err == nil {
			t.Errorf("%s: taken", what)
		}
		if err := RotateToken(f.state); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := MakeToken(f.state); err != nil {
			t.Errorf("%s: after it was made anew: %v", what, err)
		}
	}
	// Somebody writes into the file itself, a moment later.
	old := f.token()
	edited := strings.Repeat("A", tokenLen)
	if err := errors.Join(os.WriteFile(path, []byte(edited+"\n"), 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	if f.s.isTool(old) || !f.s.isTool(edited) {
		t.Error("the old token holds")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", " ", "x", edited} { // an empty token is none
		if f.s.isTool(key) {
			t.Errorf("%q is the token of an empty file", key)
		}
	}
}

// A connection may bring a request when the server has begun to wait for the end of all.
func TestARequestThatComesWithTheEndIsRefused(t *testing.T) {
	f := newFace(t, Limits{}, whoRoute("/open", Anyone))
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/open", nil)
	r.Host = "localhost:" + strconv.Itoa(f.s.port)
	if f.s.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
