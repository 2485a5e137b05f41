// Command bench times c2c's hot paths, each as a ratio to a limit that is
// measured in the same run, in turn with it: bench <directory of the programs>
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

const (
	pairs   = 100
	backlog = 10_000
)

// format is a row: what, limit, median of each in ms, median of the ratios, 99th percentile of what.
const format = "| %-30s | %-24s | %8.2f | %8.2f | %6.2f | %6.2f |\n"

const event = `{"hook_event_name":"PostToolUse","session_id":"bench"}`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench <directory of c2c and empty>")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// world is a scratch HOME with the mailboxes amber, birch (the sender) and cedar (full).
type world struct{ bin, home, root, claude string }

func run(bin string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "c2c-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	w := world{bin: bin, home: home, root: filepath.Join(home, "broker")}
	if err := w.prepare(); err != nil {
		return err
	}
	w.claude = "bench" // not before: it would be the session that is registered
	c2c, empty, script := filepath.Join(bin, "c2c"), filepath.Join(bin, "empty"), filepath.Join(home, "check.sh")
	fmt.Print(heading())
	fmt.Printf(strings.ReplaceAll(format, ".2f", "s"), "what", "limit", "p50 ms", "limit ms", "ratio", "p99 ms")
	fmt.Println("|---|---|---:|---:|---:|---:|")
	for _, row := range []struct {
		what, limit string
		a, b        []string
	}{
		{"c2c version", "empty Go program", []string{c2c, "version"}, []string{empty}},
		{"c2c hook, empty mailbox", "empty Go program", []string{c2c, "hook"}, []string{empty}},
		{"hook script, empty mailbox", "sh -c :", []string{script}, []string{"sh", "-c", ":"}},
		{"c2c send", "empty Go program", []string{c2c, "send", "amber", "hello"}, []string{empty}},
		{fmt.Sprintf("c2c send, %d waiting", backlog), "c2c send, few waiting",
			[]string{c2c, "send", "cedar", "hello"}, []string{c2c, "send", "amber", "hello"}},
	} {
		if err := w.compare(row.what, row.limit, row.a, row.b); err != nil {
			return fmt.Errorf("%s: %w", row.what, err)
		}
	}
	if err := w.burst(); err != nil {
		return err
	}
	return w.idle()
}

// heading says where and when, without which a figure says nothing.
func heading() string {
	cpu := "an unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(data), "model name\t: "); ok {
			cpu, _, _ = strings.Cut(rest, "\n")
		}
	}
	return fmt.Sprintf("# Performance\n\nWritten by `make bench` on %s: %d x %s, %s, %s.\n\n"+
		"Each row is measured in turn with its limit, %d times (bursts %d times); the ratio is the median of the pairs'.\n"+
		"The empty Go program is what a process costs here; `send` adds two fsyncs to it.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), cpu, runtime.GOOS, runtime.Version(), pairs, bursts)
}

func (w world) prepare() error {
	for _, name := range []string{"amber", "birch", "cedar"} {
		if _, err := w.time([]string{filepath.Join(w.bin, "c2c"), "register", name, "--session-id", name}); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(w.home, "check.sh"), hooks.ScriptFor(filepath.Join(w.bin, "c2c")), 0o700); err != nil {
		return err
	}
	if _, err := w.time([]string{filepath.Join(w.bin, "c2c"), "hook"}); err != nil { // registers, leaves the pointer
		return err
	}
	root, err := atomicfile.Open(w.root)
	if err != nil {
		return err
	}
	defer root.Close()
	box, err := inbox.Open(root, "cedar", inbox.Config{})
	if err != nil {
		return err
	}
	msgs := slices.Repeat([]inbox.Message{{From: "birch", To: "cedar", Content: strings.Repeat("x", 200)}}, backlog/10)
	for range 10 {
		if _, err := box.Deliver(context.Background(), msgs...); err != nil {
			return err
		}
	}
	return nil
}

// compare runs a and b in turn and prints medians and the median of the ratios pair by pair.
func (w world) compare(what, limit string, a, b []string) error {
	var as, bs, ratios []float64
	for i := range pairs + 3 {
		ta, err := w.time(a)
		if err != nil {
			return err
		}
		tb, err := w.time(b)
		if err != nil {
			return err
		}
		if i >= 3 { // the first ones warm the caches
			as, bs, ratios = append(as, ta), append(bs, tb), append(ratios, ta/tb)
		}
	}
	fmt.Printf(format, what, limit, at(as, 50), at(bs, 50), at(ratios, 50), at(as, 99))
	return nil
}

// time runs a command as birch and returns milliseconds.
func (w world) time(argv []string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = w.home
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + w.root,
		"C2C_MCP_SESSION_ID=birch", "CLAUDE_CODE_SESSION_ID=" + w.claude}
	cmd.Stdin = strings.NewReader(event)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("run %v: %w: %s", argv, err, out)
	}
	return float64(time.Since(start)) / float64(time.Millisecond), nil
}

func at(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*percent/100]
}
