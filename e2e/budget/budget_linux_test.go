package budget

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"c2c/e2e/need"
)

// programs builds both programs as the Makefile does, and one that does nothing, once, into the
// directory that TestMain has made.
var programs = sync.OnceValues(func() (dir string, err error) {
	dir = os.Getenv(builtEnv)
	build := exec.Command("go", "build", "-trimpath", "-tags=nethttpomithttp2", "-ldflags=-s -w", "-o", dir+"/", "./cmd/c2c", "./cmd/c2cd", "./e2e/bench/empty")
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
	least := (&world{dir: small.dir, bin: program(t, "empty")}).faults(t, nil, nil)
	for _, row := range budgets {
		t.Run(row.name, func(t *testing.T) {
			got := small.measure(t, row.args, row.before)
			got.faults -= least
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
				check("page faults", got.faults, row.faults+faultsVary)
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
