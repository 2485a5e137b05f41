package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"c2c/hooks"
)

const event = `{"hook_event_name":"PostToolUse","session_id":"bench"}`

// world is a scratch HOME with the mailboxes of amber, birch (the sender), cedar, dune and ebony.
type world struct{ bin, home, root string }

func newWorld(bin string) (*world, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "c2c-bench-")
	if err != nil {
		return nil, err
	}
	w := &world{bin: bin, home: home, root: filepath.Join(home, "broker")}
	if err := w.prepare(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) close() error { return os.RemoveAll(w.home) }

// prepare registers the sessions. The script finds birch's mailbox by what its first hook leaves.
func (w *world) prepare() error {
	for _, name := range []string{"amber", "birch", "cedar", "dune", "ebony"} {
		if _, err := w.time(w.program("c2c"), "register", name, "--session-id", name); err != nil {
			return err
		}
	}
	if err := os.WriteFile(w.script(), hooks.ScriptFor(w.program("c2c")), 0o700); err != nil {
		return err
	}
	_, err := w.time(w.program("c2c"), "hook")
	return err
}

// in is the same world with another root.
func (w *world) in(root string) *world {
	other := *w
	other.root = filepath.Join(w.home, root)
	return &other
}

func (w *world) program(name string) string { return filepath.Join(w.bin, name) }

func (w *world) script() string { return filepath.Join(w.home, "check.sh") }

// nothingWaits is the exit status of poll-inbox --check for an empty mailbox.
const nothingWaits = 3

// time runs a command as birch and returns milliseconds.
func (w *world) time(name string, args ...string) (float64, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = w.home, w.env("birch")
	cmd.Stdin = strings.NewReader(event)
	var errs strings.Builder
	cmd.Stderr = &errs
	start := time.Now()
	err := cmd.Run()
	took := since(start)
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == nothingWaits {
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %.200s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, errs.String())
	}
	return took, nil
}

// read empties a mailbox.
func (w *world) read(sid string) error {
	_, err := w.time(w.program("c2c"), "poll-inbox", "--session-id", sid, "--json")
	return err
}

func (w *world) env(sid string) []string {
	return []string{"HOME=" + w.home, "PATH=" + w.bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + w.root,
		"C2C_MCP_SESSION_ID=" + sid, "CLAUDE_CODE_SESSION_ID=bench"}
}

func since(start time.Time) float64 { return float64(time.Since(start)) / float64(time.Millisecond) }
