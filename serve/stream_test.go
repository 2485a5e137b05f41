package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"c2c/internal/sse"
)

// events is a route of a stream: it says hello, and that it has ended.
func events(ended chan<- bool, who ...Kind) Route {
	return Route{Pattern: "/events", Who: who, Stream: true, Body: 10, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := sse.Start(w, r, time.Minute)
		if err == nil {
			err = s.Send(sse.Event{Data: []byte("hello")})
		}
		if err != nil {
			return
		}
		<-r.Context().Done()
		ended <- true
	})}
}

// follow opens a stream and reads its hello.
func (f *face) follow(method, key string) (*bufio.Reader, *http.Response) {
	f.t.Helper()
	req, err := http.NewRequest(method, "http://"+f.address()+"/events", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { resp.Body.Close() })
	r := bufio.NewReader(resp.Body)
	if resp.StatusCode == http.StatusOK {
		if line, err := r.ReadString('\n'); line != "data: hello\n" {
			f.t.Fatalf("%q, %v", line, err)
		}
	}
	return r, resp
}

func TestARotatedTokenEndsItsStreamsAndNoOthers(t *testing.T) {
	ended := make(chan bool, 3)
	f := newFace(t, Limits{}, events(ended, Tools, Sender))
	old := f.token()
	ofTools, _ := f.follow("GET", old)
	ofSender, _ := f.follow("GET", senderToken)
	if err := RotateToken(f.state); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(ofTools); err != nil {
		t.Error(err)
	}
	<-ended
	if _, resp := f.follow("GET", old); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the old token: %d", resp.StatusCode)
	}
	f.follow("GET", f.token())
	if len(ended) > 0 {
		t.Error("another stream has ended")
	}
	f.deny.Store(true)
	if rest, err := io.ReadAll(ofSender); err != nil || string(rest) != "\n" {
		t.Errorf("that of a sender that was denied: %q, %v", rest, err)
	}
	<-ended
	if err := f.stop(); err != nil { // ends the third one
		t.Error(err)
	}
}

func TestATokenThatOthersMayReadLetsNobodyIn(t *testing.T) {
	f := newFace(t, Limits{})
	metrics := "GET /metrics HTTP/1.1\nHost: localhost:{port}\nAuthorization: Bearer {token}\n\n"
	if status, _, _ := f.ask(metrics); status != http.StatusOK {
		t.Fatalf("before: %d", status)
	}
	if err := os.Chmod(TokenFile(f.state), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, body := f.ask(metrics); status != http.StatusUnauthorized || !strings.Contains(body, "rotate-token") {
		t.Errorf("%d %q", status, body)
	}
	if err := RotateToken(f.state); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := f.ask(metrics); status != http.StatusOK {
		t.Errorf("with a new one: %d", status)
	}
}

func TestThereAreOnlySoManyStreams(t *testing.T) {
	ended := make(chan bool, 3)
	f := newFace(t, Limits{Streams: 2}, events(ended, Tools))
	_, first := f.follow("GET", f.token())
	f.follow("POST", f.token())
	_, third := f.follow("GET", f.token())
	if third.StatusCode != http.StatusServiceUnavailable || third.Header.Get("Retry-After") == "" {
		t.Errorf("the third: %d %q", third.StatusCode, third.Header)
	}
	first.Body.Close()
	<-ended
	for { // it is over once its handler has returned
		if f.s.open.size() < 2 {
			break
		}
		runtime.Gosched()
	}
	if _, resp := f.follow("GET", f.token()); resp.StatusCode != http.StatusOK {
		t.Errorf("in its place: %d", resp.StatusCode)
	}
}

func TestASenderLeavesStreamsToOthers(t *testing.T) {
	ended := make(chan bool, 3)
	f := newFace(t, Limits{Streams: 16}, events(ended, Tools, Sender))
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusServiceUnavailable} {
		if _, resp := f.follow("GET", senderToken); resp.StatusCode != want {
			t.Errorf("stream %d of the sender: %d", i+1, resp.StatusCode)
		}
	}
	if _, resp := f.follow("GET", f.token()); resp.StatusCode != http.StatusOK {
		t.Errorf("that of a client: %d", resp.StatusCode)
	}
}

// Where only the body says that an answer is a stream, its handler does.
func TestARequestThatBecomesAStreamEndsWithTheDaemon(t *testing.T) {
	begun, ended := make(chan bool), make(chan bool, 1)
	f := newFace(t, Limits{Grace: time.Hour}, Route{Pattern: "POST /call", Who: []Kind{Tools}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, leave := CountStream(r)
		defer leave()
		close(begun)
		<-ctx.Done()
		ended <- true
	})})
	conn, err := net.Dial("tcp", f.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /call HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\n\r\n", f.s.port, f.token())
	<-begun
	if n := len(f.s.open.standing()); n != 1 {
		t.Errorf("%d streams would be ended", n)
	}
	if err := f.stop(); err != nil {
		t.Error(err)
	}
	<-ended
}

// A call is answered although the daemon is told to end, and what only tells what happens does not
// keep it.
func TestWhatWasBegunIsAnswered(t *testing.T) {
	begun, ends, ended := make(chan bool), make(chan bool), make(chan bool, 1)
	f := newFace(t, Limits{Grace: time.Hour}, events(ended, Tools), Route{Pattern: "POST /call", Who: []Kind{Tools}, Stream: true,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-ends
			if r.Context().Err() == nil {
				fmt.Fprint(w, "answer")
			}
		})})
	f.follow("GET", f.token())
	token, said := f.token(), make(chan string)
	go func() {
		_, _, body := f.ask("POST /call HTTP/1.1\nHost: localhost:{port}\nAuthorization: Bearer " + token + "\n\n")
		said <- body
	}()
	<-begun
	if n := len(f.s.open.standing()); n != 1 { // the call is none
		t.Errorf("%d streams would be ended", n)
	}
	stopped := make(chan error)
	go func() { stopped <- f.stop() }()
	<-ended // it is about to end
	if _, err := os.Stat(f.state.Path() + "/" + urlFile); err == nil {
		t.Error("clients are still told where it listens")
	}
	close(ends)
	if got := <-said; got != "answer" {
		t.Errorf("answered %q", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// The time of a body ends with it: a call may take longer than that.
func TestASlowBodyIsRefusedAndASlowAnswerIsNot(t *testing.T) {
	f := newFace(t, Limits{Body: 100 * time.Millisecond, Write: 50 * time.Millisecond}, Route{Pattern: "/slow", Who: []Kind{Tools}, Body: 100,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				http.Error(w, "slow", http.StatusRequestTimeout)
				return
			}
			select {
			case <-r.Context().Done():
				fmt.Fprint(w, "cut off")
			case <-time.After(300 * time.Millisecond):
				fmt.Fprint(w, "whole")
			}
		})}, whoRoute("/who", Anyone))
	const head = " HTTP/1.1\nHost: localhost:{port}\nAuthorization: Bearer {token}\n"
	for request, want := range map[string]string{
		"POST /slow" + head + "Content-Length: 5\n\nwords": "whole",
		"POST /slow" + head + "Content-Length: 5\n\nwor":   "slow\n",
		"GET /slow" + head + "\n":                          "whole",
	} {
		if _, _, body := f.ask(request); body != want {
			t.Errorf("%q: %q, want %q", request, body, want)
		}
	}
	conn, err := net.Dial("tcp", f.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for i := range 2 { // the second request has no time left of the first
		fmt.Fprintf(conn, "POST /slow HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\nContent-Length: 1\r\n\r\nx", f.s.port, f.token())
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "whole" {
			t.Errorf("request %d: %q, %v", i, body, err)
		}
	}
	f.ask("GET /slow" + head + "\n") // meanwhile the time for writing of the last answer is over
	fmt.Fprintf(conn, "POST /slow HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", f.s.port, f.token())
	if line, err := r.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Errorf("a client that waits for leave to send gets %q, %v", line, err)
	}
}

// What a handler panicked with may hold a message.
func TestAPanicSaysWhereAndNotWhat(t *testing.T) {
	f := newFace(t, Limits{}, Route{Pattern: "/boom", Who: []Kind{Anyone}, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })},
		Route{Pattern: "/half", Who: []Kind{Anyone}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("x", 8<<10))
			panic("secret")
		})})
	if status, _, body := f.ask("GET /boom HTTP/1.1\nHost: localhost:{port}\n\n"); status != http.StatusInternalServerError || strings.Contains(body, "secret") {
		t.Errorf("%d %q", status, body)
	}
	if status, _, _ := f.ask("GET /half HTTP/1.1\nHost: localhost:{port}\n\n"); status != 0 {
		t.Errorf("half an answer is a whole one: %d", status)
	}
	if status, _, _ := f.ask("GET /healthz HTTP/1.1\nHost: localhost:{port}\n\n"); status != http.StatusOK {
		t.Errorf("afterwards: %d", status)
	}
}

func TestTheMetricsSayWhatWasRefused(t *testing.T) {
	f := newFace(t, Limits{})
	for range 3 {
		f.ask("GET /metrics HTTP/1.1\nHost: localhost:{port}\n\n")
	}
	f.ask("GET /healthz HTTP/1.1\nHost: evil.example\n\n")
	_, header, body := f.ask("GET /metrics HTTP/1.1\nHost: localhost:{port}\nAuthorization: Bearer {token}\nConnection: close\n\n")
	for _, want := range []string{`c2c_http_refused_total{reason="key"} 3`, `c2c_http_refused_total{reason="host"} 1`,
		"c2c_http_streams 0", "c2c_http_roots 0"} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%q", header)
	}
	measured := regexp.MustCompile(`^[a-z0-9_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? [0-9.e+]+\n$`)
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "# ") && !measured.MatchString(line) {
			t.Errorf("no line of Prometheus: %q", line)
		}
	}
}
