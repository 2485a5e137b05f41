package budget

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"c2c/e2e/need"
)

// programs builds both programs as the Makefile does, once, into the directory that TestMain has
// made.
var programs = sync.OnceValues(func() (dir string, err error) {
	dir = os.Getenv(builtEnv)
	build := exec.Command("go", "build", "-trimpath", "-tags=nethttpomithttp2", "-ldflags=-s -w", "-o", dir+"/", "./cmd/c2c", "./cmd/c2cd")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %s", err, out)
	}
	return dir, nil
})

const builtEnv = "C2C_TEST_BUDGET_PROGRAMS"

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "c2c-budget-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv(builtEnv, dir)
	return m.Run()
}

func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

func TestNoCommandCostsMoreThanItsBudget(t *testing.T) {
	need.Tools(t, "strace")
	small, large := newWorld(t, program(t, "c2c")), newWorld(t, program(t, "c2c"))
	large.fill(t, 10_000, 200)
	for _, row := range budgets {
		t.Run(row.name, func(t *testing.T) {
			got := small.measure(t, row.args, row.before)
			check := func(what string, got, most int) {
				if got > most {
					t.Errorf("%d %s, and its budget is %d", got, what, most)
				}
			}
			t.Logf("%d calls, %d opens, %d syncs, %d page faults", got.calls, got.opens, got.syncs, got.faults)
			check("system calls", got.calls, row.calls)
			check("opens", got.opens, row.opens)
			check("syncs", got.syncs, row.syncs)
			if runtime.GOARCH == "amd64" {
				check("page faults", got.faults, row.faults+row.faults/12)
			}
			if row.before != nil {
				row.before(t, large)
			}
			much := large.trace(t, row.args)
			for range 2 {
				if row.before != nil {
					row.before(t, large)
				}
				if again := large.trace(t, row.args); again.calls < much.calls {
					much = again
				}
			}
			t.Logf("in a large root %d calls, %d opens", much.calls, much.opens)
			if much.calls > got.calls+row.grown {
				t.Errorf("%d system calls in a large root, %d in a small one, and at most %d more are allowed (%s)", much.calls, got.calls, row.grown, row.why)
			}
		})
	}
}

func TestWhatAModelReadsOfOurTools(t *testing.T) {
	w := newWorld(t, program(t, "c2c"))
	server := w.command()
	server.Path, server.Args = program(t, "c2cd"), []string{"c2cd", "mcp"}
	server.Stdin = nil
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer in.Close()
	lines := bufio.NewReader(out)
	ask := func(question string) string {
		t.Helper()
		if _, err := io.WriteString(in, question+"\n"); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ ID int }
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				t.Fatal(err)
			}
			if answer.ID != 0 {
				return line
			}
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"budget","version":"1"}}}`)
	answer := strings.TrimSpace(ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	t.Logf("tools/list: %d bytes", len(answer))
	if len(answer) > bytesOfTools {
		t.Errorf("tools/list has %d bytes, and its budget is %d", len(answer), bytesOfTools)
	}
	w.must(t, "rooms", "create", "review")
	with := strings.TrimSpace(ask(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`))
	t.Logf("tools/list where there are rooms: %d bytes more", len(with)-len(answer))
	if len(with)-len(answer) > bytesOfRooms {
		t.Errorf("the tools for rooms have %d bytes in tools/list, and their budget is %d", len(with)-len(answer), bytesOfRooms)
	}
}
