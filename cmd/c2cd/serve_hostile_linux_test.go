package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// badRequests are let in by nobody. {port} and {token} are the right ones.
var badRequests = []string{
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer wrong\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}x\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}, Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\nAuthorization: Bearer {token}\n\n",
	"GET /metrics?token={token} HTTP/1.1\nHost: 127.0.0.1:{port}\n\n",
	"GET /metrics HTTP/1.1\nHost: evil.example\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nHost: evil.example:{port}\nAuthorization: Bearer {token}\n\n",
	"GET http://evil.example/metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nHost: evil.example\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.0\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nOrigin: http://evil.example\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nOrigin: null\nAuthorization: Bearer {token}\n\n",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nSec-Fetch-Site: cross-site\nAuthorization: Bearer {token}\n\n",
	"POST /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Length: 99999999999\nAuthorization: Bearer {token}\n\nx",
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Length: -1\nAuthorization: Bearer {token}\n\n",
	"GET //metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\n\n",
	"GET /x/../metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\n\n",
	"GET /.well-known/oauth-authorization-server HTTP/1.1\nHost: 127.0.0.1:{port}\n\n",
	"DELETE /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\n\n",
	"CONNECT 127.0.0.1:22 HTTP/1.1\nHost: 127.0.0.1:22\n\n",
	"CONNECT 127.0.0.1:{port} HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {token}\n\n",
	"PRI * HTTP/2.0\n\nSM\n\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n",
	"GET\n\n", "\n\n\n\n", "GET /metrics HTTP/9.9\nHost: 127.0.0.1:{port}\n\n",
}

// slowRequests are refused before they are read whole. net/http then waits half a second, so that
// the answer arrives.
var slowRequests = []string{
	"GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nX-Long: " + strings.Repeat("x", 40<<10) + "\nAuthorization: Bearer {token}\n\n",
	"GET /" + strings.Repeat("a/", 20<<10) + " HTTP/1.1\nHost: 127.0.0.1:{port}\n\n",
}

// Half requests, which hold a connection.
var halfRequests = []string{"", "G", "GET /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nX: ",
	"POST /metrics HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Length: 1000\n\nx"}

const badConnections, slowConnections = 10_000, 50

// 10,000 connections of which nobody is let in, and a client with the token that is always
// answered.
func TestNobodyIsLetInAndTheGoodClientIsAnswered(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	pid := h.status().PID
	good := newGoodClient(h)
	good.begin()
	h.slowReaders()
	h.hold()
	bad, slow := h.fill(badRequests), h.fill(slowRequests)
	next := make(chan string)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for request := range next {
				if status := h.send(request); status == http.StatusOK {
					t.Errorf("let in: %.200q", request)
				}
			}
		})
	}
	for i := range badConnections {
		if every := badConnections / slowConnections; i%every == 0 {
			next <- slow[i/every%len(slow)]
			continue
		}
		next <- bad[i%len(bad)]
	}
	close(next)
	wg.Wait()
	times := good.end()
	if rss := memory(t, pid); rss > 128<<20 {
		t.Errorf("it takes %d MiB", rss>>20)
	}
	if n := threads(t, pid); n > 200 {
		t.Errorf("it has %d threads", n)
	}
	slices.Sort(times)
	t.Logf("%d answers meanwhile, median %v, p99 %v; %d MiB, %d threads", len(times), times[len(times)/2], times[len(times)*99/100], memory(t, pid)>>20, threads(t, pid))
	if st := h.status(); !st.Answers || st.PID != pid {
		t.Errorf("afterwards: %+v", st)
	}
	if log, err := os.ReadFile(h.file("daemon", "daemon.log")); err != nil || strings.Contains(string(log), h.token()) || len(log) > 64<<10 {
		t.Errorf("the log has %d bytes, or the token; %v", len(log), err)
	}
}

// slowReaders have streams open that nobody reads, and get mail that rings there.
func (h *host) slowReaders() {
	h.t.Helper()
	for i := range 20 {
		c := h.dialMCP("slow")
		alias := "slow-" + strconv.Itoa(i)
		c.call("register", `{"alias":"`+alias+`"}`)
		resp, err := c.send("GET", nil)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode != http.StatusOK {
			h.t.Fatalf("stream %d: %s", i, resp.Status)
		}
		if i > 0 {
			c.call("send", `{"to_alias":"slow-`+strconv.Itoa(i-1)+`","content":"hello"}`)
		}
	}
}

// hold opens more connections than there may be, and says half of something in each.
func (h *host) hold() {
	h.t.Helper()
	half := h.fill(halfRequests)
	for i := range 600 {
		conn, err := net.Dial("tcp", "127.0.0.1:"+h.port)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, half[i%len(half)])
	}
}

// send gives the status of the answer, 0 when there was none.
func (h *host) send(request string) int {
	conn, err := net.Dial("tcp", "127.0.0.1:"+h.port)
	if err != nil {
		return 0
	}
	defer conn.Close()
	io.WriteString(conn, request)
	conn.(*net.TCPConn).CloseWrite() // what is half a request is over then
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode
}

// goodClient is a session that calls a tool again and again.
type goodClient struct {
	*mcpClient
	stop  chan bool
	times chan []time.Duration
}

func newGoodClient(h *host) *goodClient {
	c := h.dialMCP("good")
	c.call("register", `{"alias":"good"}`)
	return &goodClient{c, make(chan bool), make(chan []time.Duration, 1)}
}

func (g *goodClient) begin() {
	go func() {
		var times []time.Duration
		for {
			select {
			case <-g.stop:
				g.times <- times
				return
			default:
			}
			began := time.Now()
			if _, err := g.tryCall("poll_inbox", `{}`); err != nil {
				g.t.Errorf("the good client: %v", err)
			}
			times = append(times, time.Since(began))
		}
	}()
}

func (g *goodClient) end() []time.Duration {
	close(g.stop)
	return <-g.times
}

// field is a number in /proc/<pid>/status.
func field(t *testing.T, pid int, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n := 0
			fmt.Sscan(rest, &n)
			return n
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return 0
}

func memory(t *testing.T, pid int) int  { return field(t, pid, "VmRSS") << 10 }
func threads(t *testing.T, pid int) int { return field(t, pid, "Threads") }
