package machines

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// NATSServer finds the nats-server that scripts/e2e-install.sh has built.
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

// Server is a server of somebody else. It ends at the latest with the test.
type Server struct {
	cmd   *exec.Cmd
	out   *os.File
	said  bytes.Buffer
	ended chan struct{} // closed when it writes no more
}

// maxSaid bounds what is kept of a server's output.
const maxSaid = 1 << 20

// Serve starts a server and returns when it writes that it is ready.
func Serve(t testing.TB, ready string, argv ...string) *Server {
	t.Helper()
	s := &Server{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
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
	isReady := make(chan struct{})
	go s.read(ready, isReady)
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(argv, " "), s.said.Bytes()[max(0, s.said.Len()-8<<10):])
		}
	})
	select {
	case <-isReady:
	case <-s.ended:
		t.Fatalf("%s ended:\n%s", argv[0], s.said.String())
	case <-time.After(patience):
		t.Fatalf("%s does not say %q", argv[0], ready)
	}
	return s
}

func (s *Server) read(ready string, isReady chan struct{}) {
	defer close(s.ended)
	for lines := bufio.NewScanner(s.out); lines.Scan(); {
		if s.said.Len() < maxSaid {
			s.said.WriteString(lines.Text() + "\n")
		}
		if isReady != nil && strings.Contains(lines.Text(), ready) {
			close(isReady)
			isReady = nil
		}
	}
}

// Kill kills the server as a crash does.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.out.Close() // what it has started may still have the other end
	<-s.ended
}

// Pid is its process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
