package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// server is one `c2c mcp` process of the session.
type server struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	id  int
}

func startServer(t *testing.T, bin, home, session string) *server {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "c2c"), "mcp")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + filepath.Join(home, "root"), "C2C_MCP_SESSION_ID=" + session}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("c2c mcp: %v", err)
		}
	})
	return &server{t: t, in: in, out: bufio.NewScanner(out)}
}

func (s *server) call(tool, args string) (text string, isError bool) {
	s.t.Helper()
	s.id++
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", s.id, tool, args)
	if !s.out.Scan() {
		s.t.Fatalf("%s is not answered: %v", tool, s.out.Err())
	}
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(s.out.Bytes(), &answer); err != nil || len(answer.Result.Content) == 0 {
		s.t.Fatalf("%v: %s", err, s.out.Bytes())
	}
	return answer.Result.Content[0].Text, answer.Result.IsError
}

func (s *server) want(tool, args string) string {
	s.t.Helper()
	text, isError := s.call(tool, args)
	if isError {
		s.t.Fatalf("%s: %s", tool, text)
	}
	return text
}

// Somebody cleans up ~/.c2c while sessions are at work.
func TestALiveServerFollowsARootThatIsMadeAnew(t *testing.T) {
	bin, home := programs(t), t.TempDir()
	amber, birch := startServer(t, bin, home, "amber"), startServer(t, bin, home, "birch")
	amber.want("register", `{"alias":"amber"}`)
	birch.want("register", `{"alias":"birch"}`)
	if err := os.RemoveAll(filepath.Join(home, "root")); err != nil {
		t.Fatal(err)
	}
	amber.want("register", `{"alias":"amber"}`)
	birch.want("register", `{"alias":"birch"}`)
	birch.want("send", `{"to_alias":"amber","content":"hello again"}`)
	if got := amber.want("poll_inbox", `{}`); !strings.Contains(got, "hello again") {
		t.Errorf("amber has %s", got)
	}
	if _, err := os.Stat(filepath.Join(home, "root", "registry.json")); err != nil {
		t.Error(err)
	}
}
