// Command bench times c2c's hot paths, each as a ratio to a limit that is
// measured in the same run, in turn with it: bench <directory of the programs>
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

const pairs = 100

const event = `{"hook_event_name":"PostToolUse","session_id":"bench"}`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench <directory of c2c, empty, replace and noop>")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// world is a scratch HOME with the mailboxes amber, birch (the sender), cedar (full) and dune.
type world struct {
	bin, home, root, claude string

	dir *atomicfile.Dir // the root
}

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
	if w.dir, err = atomicfile.Open(w.root); err != nil {
		return err
	}
	defer w.dir.Close()
	fmt.Print(heading())
	columns()
	for _, part := range []func() error{w.processes, w.backlog, w.burst, w.drain, w.list, w.rings, w.mcp, w.terminal, w.idle} {
		if err := part(); err != nil {
			return err
		}
	}
	notes()
	return w.rivals()
}

func (w world) prepare() error {
	for _, name := range []string{"amber", "birch", "cedar", "dune"} {
		if _, err := w.time([]string{w.program("c2c"), "register", name, "--session-id", name}); err != nil {
			return err
		}
	}
	if err := os.WriteFile(w.script(), hooks.ScriptFor(w.program("c2c")), 0o700); err != nil {
		return err
	}
	_, err := w.time([]string{w.program("c2c"), "hook"}) // registers, leaves the pointer
	return err
}

func (w world) program(name string) string { return filepath.Join(w.bin, name) }

func (w world) script() string { return filepath.Join(w.home, "check.sh") }

// processes compares whole processes.
func (w world) processes() error {
	empty := []string{w.program("empty")}
	for _, row := range []struct {
		figure
		a, b []string
	}{
		{figure{what: "c2c version", limit: "empty Go program"}, []string{w.program("c2c"), "version"}, empty},
		{figure{what: "c2c hook, empty mailbox", limit: "empty Go program", aim: "1.3"}, []string{w.program("c2c"), "hook"}, empty},
		{figure{what: "hook script, empty mailbox", limit: "sh -c :", aim: "2"}, []string{w.script()}, []string{"sh", "-c", ":"}},
		{figure{what: "c2c send", limit: "Go program with one durable replace", aim: "1.4"},
			[]string{w.program("c2c"), "send", "amber", "hello"}, []string{w.program("replace"), w.root}},
	} {
		f, err := row.measure(pairs, w.emptied("amber", row.a), w.command(row.b))
		if err != nil {
			return err
		}
		f.print()
	}
	return nil
}

func (w world) command(argv []string) func() (float64, error) {
	return func() (float64, error) { return w.time(argv) }
}

// emptied is command, each time after the mailbox was emptied.
func (w world) emptied(sid string, argv []string) func() (float64, error) {
	return func() (float64, error) {
		box, err := inbox.Open(w.dir, sid, inbox.Config{})
		if err != nil {
			return 0, err
		}
		if _, err := box.Drain(context.Background(), "bench"); err != nil {
			return 0, err
		}
		return w.time(argv)
	}
}

// time runs a command as birch and returns milliseconds.
func (w world) time(argv []string) (float64, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.home, w.env("birch")
	cmd.Stdin = strings.NewReader(event)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("run %v: %w: %s", argv, err, out)
	}
	return since(start), nil
}

func (w world) env(sid string) []string {
	return []string{"HOME=" + w.home, "PATH=" + w.bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + w.root,
		"C2C_MCP_SESSION_ID=" + sid, "CLAUDE_CODE_SESSION_ID=" + w.claude}
}
