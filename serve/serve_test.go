package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"c2c/broker"
	"c2c/internal/atomicfile"
)

// face is a server that runs, with a state directory of its own.
type face struct {
	t     *testing.T
	s     *Server
	state *atomicfile.Dir
	home  string
	stop  func() error
	deny  atomic.Bool // the sender
}

// newFace starts one that answers these routes, too.
func newFace(t *testing.T, limits Limits, routes ...Route) *face {
	t.Helper()
	f := &face{t: t, home: t.TempDir()}
	var err error
	if f.state, err = atomicfile.Create(filepath.Join(f.home, "c2c")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.state.Close() })
	f.s = New(f.config(limits))
	f.s.Handle(routes...)
	if err := f.s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.s.Run(ctx) }()
	done := false
	f.stop = func() error {
		cancel()
		if done {
			return nil
		}
		done = true
		return <-ended
	}
	t.Cleanup(func() {
		if err := f.stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *face) config(limits Limits) Config {
	env := map[string]string{"XDG_STATE_HOME": f.home}
	getenv := func(name string) string { return env[name] }
	return Config{State: f.state, Port: AnyPort, Getenv: getenv, Dir: f.home, Limits: limits, Sender: f.sender,
		Open:     func(root string) (*broker.Broker, error) { return broker.Open(broker.Config{Root: root}) },
		OpenHere: func(dir string) (*broker.Broker, error) { return broker.OpenHere(getenv, dir, broker.Config{}) }}
}

const senderToken = "a-token-of-a-sender"

// sender knows one, until it is denied.
func (f *face) sender(token string) (Visitor, bool) {
	return Visitor{Kind: Sender, Name: "ci", Root: "/r"}, token == senderToken && !f.deny.Load()
}

func (f *face) token() string {
	f.t.Helper()
	token, err := Token(f.state)
	if err != nil {
		f.t.Fatal(err)
	}
	return token
}

func (f *face) address() string { return "127.0.0.1:" + strconv.Itoa(f.s.port) }

// ask sends a request as it stands, but for {port} and {token}, and gives the status, the header
// and the body of the answer. Status 0: the connection was ended without one.
func (f *face) ask(request string) (status int, header http.Header, body string) {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.address())
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, strings.NewReplacer("\n", "\r\n", "{port}", strconv.Itoa(f.s.port), "{token}", f.token()).Replace(request))
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return 0, nil, ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if resp.Close {
		resp.Header.Set("Connection", "close") // which the library takes out
	}
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // nobody reads what we still had to say
		return 0, resp.Header, string(data)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// whoRoute answers who the visitor is, and what it has sent.
func whoRoute(pattern string, who ...Kind) Route {
	return Route{Pattern: pattern, Who: who, Body: 100, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		v := VisitorOf(r)
		kind := map[Kind]string{Anyone: "anyone", Tools: "tools", Sender: "outside", Person: "person"}[v.Kind]
		fmt.Fprintf(w, "%s %s %s %s", kind, v.Name, r.Method, data)
	})}
}

func TestOnlyWhoShowsTheKeyIsLetIn(t *testing.T) {
	f := newFace(t, Limits{}, whoRoute("/tools", Tools), whoRoute("/in", Sender), whoRoute("/page", Person), whoRoute("/both", Tools, Sender),
		whoRoute("/open", Anyone), whoRoute("GET /get", Tools))
	const host = " HTTP/1.1\nHost: 127.0.0.1:{port}\n"
	const tools, sender = "Authorization: Bearer {token}\n\n", "Authorization: Bearer " + senderToken + "\n\n"
	for request, want := range map[string]int{
		"GET /tools" + host + tools:                                       200,
		"POST /tools" + host + tools:                                      200,
		"GET /tools" + host + "authorization: bearer {token}\n\n":         200,
		"GET /tools HTTP/1.1\nHost: localhost:{port}\n" + tools:           200,
		"GET /tools HTTP/1.1\nHost: [::1]:{port}\n" + tools:               200,
		"GET /tools HTTP/1.0\nHost: 127.0.0.1:{port}\n" + tools:           200,
		"GET /tools" + host + "Origin: http://localhost:{port}\n" + tools: 200,
		"GET /tools" + host + "Sec-Fetch-Site: none\n" + tools:            200,
		"GET /in" + host + sender:                                         200,
		"GET /both" + host + tools:                                        200,
		"GET /both" + host + sender:                                       200,
		"GET /open" + host + "\n":                                         200,
		"GET /healthz" + host + "\n":                                      200,
		"GET /metrics" + host + tools:                                     200,

		"GET /tools" + host + "\n":                                                                     401,
		"DELETE /tools" + host + "\n":                                                                  401,
		"OPTIONS /tools" + host + "\n":                                                                 401,
		"GET /metrics" + host + "\n":                                                                   401,
		"GET /page" + host + "Cookie: c2c-{port}=x\n\n":                                                401,
		"GET /tools" + host + "Authorization: Bearer\n\n":                                              401,
		"GET /tools" + host + "Authorization: Bearer {token}x\n\n":                                     401,
		"GET /tools" + host + "Authorization: Bearer  {token}\n\n":                                     401,
		"GET /tools" + host + "Authorization: Basic {token}\n\n":                                       401,
		"GET /tools" + host + "Authorization: {token}\n\n":                                             401,
		"GET /tools" + host + "Authorization: Bearer x\n" + tools:                                      401,
		"GET /tools" + host + "Authorization: Bearer {token}\nAuthorization: Bearer x\n\n":             401,
		"GET /tools?token={token}&access_token={token}" + host + "\n":                                  401,
		"GET /tools" + host + "Authorization: Bearer " + senderToken + "x\n\n":                         401,
		"GET /tools" + host + sender:                                                                   403,
		"GET /in" + host + tools:                                                                       403,
		"GET /page" + host + tools:                                                                     403,
		"GET /metrics" + host + sender:                                                                 403,
		"GET /tools" + host + "Origin: http://evil.example\n" + tools:                                  403,
		"GET /tools" + host + "Origin: null\n" + tools:                                                 403,
		"GET /tools" + host + "Origin: \n" + tools:                                                     403,
		"GET /tools" + host + "Origin: https://127.0.0.1:{port}\n" + tools:                             403,
		"GET /tools" + host + "Origin: http://127.0.0.1\n" + tools:                                     403,
		"GET /tools" + host + "Origin: http://127.0.0.1:{port}.evil.example\n" + tools:                 403,
		"GET /tools" + host + "Origin: http://127.0.0.1:{port}\nOrigin: http://evil.example\n" + tools: 403,
		"GET /open" + host + "Sec-Fetch-Site: cross-site\n\n":                                          403,
		"GET /open" + host + "Sec-Fetch-Site: same-site\n\n":                                           403,
		"GET /healthz HTTP/1.1\nHost: evil.example\n\n":                                                403,
		"GET /healthz HTTP/1.1\nHost: evil.example:{port}\n\n":                                         403,
		"GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n":                                                   403,
		"GET /healthz HTTP/1.1\nHost: 127.0.0.1:1\n\n":                                                 403,
		"GET /healthz HTTP/1.1\nHost: 127.0.0.1:{port}.\n\n":                                           403,
		"GET /healthz HTTP/1.1\nHost: 0.0.0.0:{port}\n\n":                                              403,
		"GET http://evil.example/healthz HTTP/1.1\nHost: 127.0.0.1:{port}\n\n":                         403,
		"GET /healthz HTTP/1.0\n\n":                                                                    403,
		"OPTIONS * HTTP/1.1\nHost: evil.example\n\n":                                                   403,
		"GET /healthz HTTP/1.1\n\n":                                                                    400,
		"GET /healthz" + host + "Host: 127.0.0.1:{port}\n\n":                                           400,
		"GET /nothing" + host + "\n":                                                                   404,
		"GET /nothing" + host + tools:                                                                  404,
		"GET /.well-known/oauth-protected-resource" + host + "\n":                                      404,
		"GET /.well-known/oauth-authorization-server/mcp" + host + "\n":                                404,
		"OPTIONS *" + host + "\n":                                                                      400,
		"GET //tools" + host + tools:                                                                   404,
		"GET /x/../tools" + host + tools:                                                               404,
		"GET /x/%2e%2e/tools" + host + tools:                                                           404,
		"GET /tools/" + host + tools:                                                                   404,
		"POST /get" + host + tools:                                                                     405,
		"POST /healthz" + host + "\n":                                                                  405,
		"POST /tools" + host + "Content-Length: 101\n\n":                                               401,
		"POST /metrics" + host + "Content-Length: 1\n" + tools + "x":                                   405,
		"POST /tools" + host + "Transfer-Encoding: chunked\n" + tools + "C8\n" + strings.Repeat("x", 200) + "\n0\n\n": 413,
		"GET /tools" + host + "X: " + strings.Repeat("x", 32<<10) + "\n" + tools:                                      431,
	} {
		status, header, body := f.ask(request)
		if status != want {
			t.Errorf("%.120q: %d, want %d (%q)", request, status, want, body)
		}
		if status == 401 && (header.Get("WWW-Authenticate") != "Bearer" || !strings.EqualFold(header.Get("Connection"), "close")) {
			t.Errorf("%.120q: %q", request, header)
		}
	}
}

func TestAHandlerKnowsWhoAsks(t *testing.T) {
	f := newFace(t, Limits{}, whoRoute("/any", Anyone, Tools, Sender))
	for key, want := range map[string]string{"{token}": "tools  POST words", senderToken: "outside ci POST words", "x": "anyone  POST words"} {
		request := "POST /any HTTP/1.1\nHost: localhost:{port}\nContent-Length: 5\nAuthorization: Bearer " + key + "\n\nwords"
		if _, _, body := f.ask(request); body != want {
			t.Errorf("with %q: %q, want %q", key, body, want)
		}
	}
	process := make(chan int, 1)
	f = newFace(t, Limits{}, Route{Pattern: "/", Who: []Kind{Anyone}, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { process <- ProcessOf(r) })})
	f.ask("GET / HTTP/1.1\nHost: localhost:{port}\n\n")
	if p := <-process; p != os.Getpid() {
		t.Errorf("process %d", p)
	}
}

// What the server leaves unread makes the system end the connection with a reset, which a client
// may see instead of the answer.
func TestWhoSendsTooMuchReadsTheAnswerToItsEnd(t *testing.T) {
	f := newFace(t, Limits{}, whoRoute("/tools", Tools))
	for _, header := range []string{"", "Connection: close\r\n"} {
		conn, err := net.Dial("tcp", f.address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /tools HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%sContent-Length: 1000000\r\n\r\n%s",
			f.address(), f.token(), header, strings.Repeat("x", 32<<10))
		answer, err := io.ReadAll(conn)
		if !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") || err != nil {
			t.Errorf("%q: %q, %v", header, answer, err)
		}
	}
}
