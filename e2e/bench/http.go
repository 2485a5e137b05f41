package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	streamsOpen  = 200
	slowOnes     = 40 // streams that no client reads
	halfRequests = 600
	badRequests  = 3_000
	badAtOnce    = 16
	quietCalls   = 400
	httpPeers    = 20
)

// httpDaemon is a running HTTP daemon of c2c.
type httpDaemon struct {
	w           *world
	host, token string
	pid         int
	table       string // the measured figures
}

// mcpClient is a client with an MCP session and a connection of its own.
type mcpClient struct {
	*httpDaemon
	id   string
	http *http.Transport
}

// httpRow measures one call over HTTP at a time.
func httpRow() row {
	n := 0
	return row{name: "send over HTTP", limit: replaceWords, against: replace, aim: 1.2, with: func(w *world) error {
		f, err := w.startDaemon()
		if err != nil {
			return err
		}
		w.running = append(w.running, f.stop)
		if w.caller, err = f.dial("http-birch"); err != nil {
			return err
		}
		for i := range httpPeers {
			if _, err := f.dial(fmt.Sprintf("http-%d", i)); err != nil {
				return err
			}
		}
		return nil
	}, do: func(w *world) ([]float64, error) {
		n++
		return one(w.caller.call("send", fmt.Sprintf(`{"to_alias":"http-%d","content":"hello"}`, n%httpPeers)))
	}}
}

func (f *httpDaemon) stop() error {
	_, err := f.w.time(f.w.program("c2c"), "serve", "stop")
	return err
}

// http measures a tool call over HTTP: first alone, then with many streams open, then also while
// the daemon refuses other requests.
func (w *world) http() (table string, err error) {
	if err := w.renew(""); err != nil {
		return "", err
	}
	f, err := w.startDaemon()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	f.table = "\n## The HTTP daemon\n\n`send` over HTTP, one call after the other on one connection, each to another session.\n\n" +
		"| meanwhile | calls | p50 ms | p99 ms | most memory, MB |\n|---|---:|---:|---:|---:|\n"
	birch, err := f.dial("http-birch")
	if err != nil {
		return "", err
	}
	var all []*mcpClient
	for i := range streamsOpen {
		g, err := f.dial("http-" + strconv.Itoa(i))
		if err != nil {
			return "", err
		}
		all = append(all, g)
	}
	if err := birch.report("nothing else", calls(quietCalls)); err != nil {
		return "", err
	}
	var open sync.WaitGroup
	defer open.Wait()
	for i, g := range all {
		end, err := g.listen(i%(streamsOpen/slowOnes) != 0, &open)
		if err != nil {
			return "", err
		}
		defer end()
	}
	if err := birch.report(fmt.Sprintf("%d streams are open, and %d of them are not read", streamsOpen, slowOnes), calls(quietCalls)); err != nil {
		return "", err
	}
	end, err := f.hold()
	if err != nil {
		return "", err
	}
	defer end()
	done := f.attack()
	err = birch.report(fmt.Sprintf("and %d bad requests, %d at once, beside %d incomplete requests", badRequests, badAtOnce, halfRequests),
		func(int) bool { return !ended(done) })
	return f.table, err
}

func calls(n int) func(int) bool { return func(i int) bool { return i < n } }

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func (w *world) startDaemon() (*httpDaemon, error) {
	if _, err := w.time(w.program("c2c"), "serve", "start", "--port", "0"); err != nil {
		return nil, err
	}
	state := filepath.Join(w.home, ".c2c")
	token, err := os.ReadFile(filepath.Join(state, "http-mcp-token"))
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(state, "http-mcp.json"))
	if err != nil {
		return nil, err
	}
	var at struct{ Port, PID int }
	err = json.Unmarshal(data, &at)
	return &httpDaemon{w: w, host: "127.0.0.1:" + strconv.Itoa(at.Port), token: strings.TrimSpace(string(token)), pid: at.PID}, err
}

// dial begins an MCP session and gives it an alias.
func (f *httpDaemon) dial(alias string) (*mcpClient, error) {
	g := &mcpClient{httpDaemon: f, http: &http.Transport{}}
	resp, err := g.send("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	if err != nil {
		return nil, err
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	g.id = resp.Header.Get("Mcp-Session-Id")
	_, err = g.call("register", `{"alias":"`+alias+`"}`)
	return g, err
}

func (g *mcpClient) send(method, body string) (*http.Response, error) {
	req, err := http.NewRequest(method, "http://"+g.host+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + g.token, "Content-Type": "application/json",
		"X-C2C-Project": g.w.home, "Mcp-Session-Id": g.id} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return g.http.RoundTrip(req)
}

// call calls a tool and returns how long that took, in milliseconds.
func (g *mcpClient) call(tool, arguments string) (float64, error) {
	start := time.Now()
	resp, err := g.send("POST", request(tool, arguments))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	took := since(start)
	if err == nil && (resp.StatusCode != http.StatusOK || strings.Contains(string(text), `"isError":true`)) {
		err = fmt.Errorf("%s: %s: %.200s", tool, resp.Status, text)
	}
	return took, err
}

// report makes calls as long as more returns true, and adds a row with their times to the table.
func (g *mcpClient) report(meanwhile string, more func(i int) bool) error {
	var took []float64
	for i := 0; more(i); i++ {
		ms, err := g.call("send", fmt.Sprintf(`{"to_alias":"http-%d","content":"hello"}`, i%streamsOpen))
		if err != nil {
			return fmt.Errorf("%s: %w", meanwhile, err)
		}
		took = append(took, ms)
	}
	memory, err := g.memory()
	g.table += fmt.Sprintf("| %s | %d | %.2f | %.2f | %.0f |\n", meanwhile, len(took), at(took, 50), at(took, 99), memory)
	return err
}

// memory returns the peak memory of the daemon, in MB.
func (f *httpDaemon) memory() (float64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(f.pid), "status"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1000 * 1.024, err
}

// listen opens the stream of the session. If reads is true, it also reads the stream and answers
// the pings. end closes the stream.
func (g *mcpClient) listen(reads bool, open *sync.WaitGroup) (end func(), err error) {
	resp, err := g.send("GET", "")
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("stream: %s", resp.Status)
	}
	if reads {
		open.Go(func() {
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
				var ping struct{ ID, Method string }
				data, _ := strings.CutPrefix(lines.Text(), "data: ")
				if json.Unmarshal([]byte(data), &ping) != nil || ping.Method != "ping" {
					continue
				}
				if answer, err := g.send("POST", `{"jsonrpc":"2.0","id":"`+ping.ID+`","result":{}}`); err == nil {
					answer.Body.Close()
				}
			}
		})
	}
	return func() { resp.Body.Close() }, nil
}

// hold opens many connections and sends half a request on each.
func (f *httpDaemon) hold() (end func(), err error) {
	var all []net.Conn
	end = func() {
		for _, c := range all {
			c.Close()
		}
	}
	for range halfRequests {
		c, err := net.Dial("tcp", f.host)
		if err != nil {
			return end, err
		}
		all = append(all, c)
		io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: "+f.host+"\r\nContent-Le")
	}
	return end, nil
}

// attack sends requests that the daemon must refuse, and waits for all answers, in the background.
// done is closed at the end.
func (f *httpDaemon) attack() (done <-chan struct{}) {
	key := "Authorization: Bearer " + f.token + "\r\n"
	bad := []string{
		"POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nAuthorization: Bearer wrong\r\nContent-Length: 2\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + key + "Content-Length: 2\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nOrigin: http://evil.example\r\n" + key + "Content-Length: 2\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\n" + key + "Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{}",
		"POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\n" + key + "Content-Type: application/json\r\nMcp-Session-Id: x\r\nContent-Length: 2\r\n\r\n{}",
		"GET /mcp HTTP/1.1\r\nHost: " + f.host + "\r\n" + key + "Mcp-Session-Id: 00000000000000000000000000000000\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
	}
	next, all := make(chan string), make(chan struct{})
	var workers sync.WaitGroup
	for range badAtOnce {
		workers.Go(func() {
			for request := range next {
				if c, err := net.Dial("tcp", f.host); err == nil {
					io.WriteString(c, request)
					c.(*net.TCPConn).CloseWrite()
					io.Copy(io.Discard, c)
					c.Close()
				}
			}
		})
	}
	go func() {
		defer close(all)
		for i := range badRequests {
			next <- bad[i%len(bad)]
		}
		close(next)
		workers.Wait()
	}()
	return all
}
