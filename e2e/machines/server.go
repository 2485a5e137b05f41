package machines

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// NATSServer returns the path of the nats-server that scripts/e2e-install.sh has built.
func NATSServer(t testing.TB) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("C2C_E2E_TOOLS")) {
		path := filepath.Join(dir, "nats-server")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	t.Fatal("there is no nats-server in C2C_E2E_TOOLS: run scripts/e2e.sh")
	return ""
}

// lowest, of ports, is below those that the system gives to a connection. A server that was killed
// could else find its port taken by the very host that tries to reach it.
const (
	lowest = 20_000
	ports  = 10_000
)

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreeAddress returns an address of loopback that a server may listen at, also again later.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range ports {
		addr := fmt.Sprintf("127.0.0.1:%d", lowest+nextPort.Add(1)%ports)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Server is a running server that is not part of c2c. It ends with the test at the latest.
type Server struct {
	cmd   *exec.Cmd
	out   *os.File
	ended chan struct{} // closed at the end of its output

	mu   sync.Mutex
	said bytes.Buffer
	more chan struct{} // closed and replaced at each line of output
}

// maxSaid limits how much of a server's output is kept.
const maxSaid = 1 << 20

// Serve starts a server and returns when its output contains ready.
func Serve(t testing.TB, ready string, argv ...string) *Server {
	t.Helper()
	s := &Server{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{}), more: make(chan struct{})}
	var w *os.File
	var err error
	if s.out, w, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	err = s.cmd.Start()
	w.Close()
	if err != nil {
		s.out.Close()
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			said := s.text()
			t.Logf("%s:\n%s", strings.Join(argv, " "), said[max(0, len(said)-8<<10):])
		}
	})
	s.Says(t, ready)
	return s
}

func (s *Server) read() {
	defer close(s.ended)
	for lines := bufio.NewScanner(s.out); lines.Scan(); {
		s.mu.Lock()
		if s.said.Len() < maxSaid {
			s.said.WriteString(lines.Text() + "\n")
		}
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
	}
}

func (s *Server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// Says waits until the server's output contains a text.
func (s *Server) Says(t testing.TB, text string) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		s.mu.Lock()
		there, more := strings.Contains(s.said.String(), text), s.more
		s.mu.Unlock()
		if there {
			return
		}
		select {
		case <-more:
		case <-s.ended:
			t.Fatalf("%s ended:\n%s", s.cmd.Path, s.text())
		case <-late.C:
			t.Fatalf("%s does not say %q:\n%s", s.cmd.Path, text, s.text())
		}
	}
}

// Kill kills the server as a crash does.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.out.Close() // a child of the server may keep the other end open
	<-s.ended
}

// Pid returns the server's process id.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
