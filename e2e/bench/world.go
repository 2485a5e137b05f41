package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"c2c/hooks"
)

const event = `{"hook_event_name":"PostToolUse","session_id":"bench"}`

// world is a scratch HOME with programs and their mail. It has two roots: the root of the row, and
// the root zero without mail, for rows whose limit is the same command in a small root.
type world struct {
	bin, home, root string
	made            map[string]bool   // the templates that were made
	ids             map[string]string // ids of messages in the templates

	// Programs that run during a row.
	server, plain *talk
	windows       [3]window
	bells         *bells
	idlers        []int // the process ids of the idlers' servers
	idle          []float64
	caller        *mcpClient
	relays        *relays
	used          *atomic.Int64  // number of ids that fresh has made
	running       []func() error // functions that end the programs
}

// newWorld copies the programs, as an installation does: one that was just linked starts more slowly
// than a copy of it.
func newWorld(from string) (*world, error) {
	home, err := os.MkdirTemp("", "c2c-bench-")
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(home, "bin")
	if err := os.CopyFS(bin, os.DirFS(from)); err != nil {
		return nil, err
	}
	w := &world{bin: bin, home: home, root: filepath.Join(home, "broker"), made: map[string]bool{}, ids: map[string]string{}, used: new(atomic.Int64)}
	return w, os.WriteFile(w.script(), hooks.ScriptFor(w.program("c2c")), 0o700)
}

func (w *world) close() error { return os.RemoveAll(w.home) }

// zero returns the same world with the root zero.
func (w *world) zero() *world {
	other := *w
	other.root = filepath.Join(w.home, "zero")
	return &other
}

// begin gives a row its mail and starts the programs that run during the row.
func (w *world) begin(r row) (end func() error, err error) {
	if err := errors.Join(w.renew(r.root), w.zero().renew("")); err != nil {
		return nil, err
	}
	if r.with != nil {
		if err = r.with(w); err != nil {
			return nil, errors.Join(err, w.end())
		}
	}
	return w.end, nil
}

func (w *world) end() (err error) {
	for _, end := range slices.Backward(w.running) {
		err = errors.Join(err, end())
	}
	w.running = nil
	return err
}

// renew makes the root a copy of a template. It makes each template once, with commands and syncs.
func (w *world) renew(template string) error {
	from := filepath.Join(w.home, "templates", template+"-mail")
	if !w.made[template] {
		maker := *w
		maker.root = from
		if err := maker.fill(template); err != nil {
			return fmt.Errorf("fill %q: %w", template, err)
		}
		w.made[template] = true
	}
	if err := os.RemoveAll(w.root); err != nil {
		return err
	}
	copying := `cp -a "$0" "$1"`
	if slices.Contains([]string{nearlyFull, full, some, old, long}, template) {
		copying += " && sync" // so that no row pays for the copy
	}
	if out, err := exec.Command("sh", "-c", copying, from, w.root).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

func (w *world) program(name string) string { return filepath.Join(w.bin, name) }

func (w *world) script() string { return filepath.Join(w.home, "check.sh") }

// nothingWaits is the exit status of poll-inbox --check for an empty mailbox.
const nothingWaits = 3

// run runs a command for a session and returns how many milliseconds it took. If to is nil, it
// discards the output: then c2c does not treat the output as one for a client's shell.
func (w *world) run(sid string, to io.Writer, name string, args ...string) (float64, error) {
	took, _, err := w.measured(sid, to, name, args...)
	return took, err
}

// measured is run, but it also returns the command's CPU time in milliseconds.
func (w *world) measured(sid string, to io.Writer, name string, args ...string) (took, cpu float64, err error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = w.home, w.env(sid)
	cmd.Stdin = strings.NewReader(event)
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = to, &errs
	start := time.Now()
	err = cmd.Run()
	took = since(start)
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == nothingWaits {
		err = nil
	}
	if err != nil {
		return took, 0, fmt.Errorf("%s: %w: %.200s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, errs.String())
	}
	used := cmd.ProcessState
	return took, float64(used.UserTime()+used.SystemTime()) / float64(time.Millisecond), nil
}

// time runs a command as birch.
func (w *world) time(name string, args ...string) (float64, error) {
	return w.run("birch", nil, name, args...)
}

// read empties a mailbox.
func (w *world) read(sid string) error {
	_, err := w.time(w.program("c2c"), "poll-inbox", "--session-id", sid, "--json")
	return err
}

func (w *world) env(sid string) []string {
	return []string{"HOME=" + w.home, "PATH=" + w.bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + w.root,
		"C2C_MCP_SESSION_ID=" + sid, "CLAUDE_CODE_SESSION_ID=bench", "USER=bench", "TERM=xterm-256color"}
}

func since(start time.Time) float64 { return float64(time.Since(start)) / float64(time.Millisecond) }

func one(ms float64, err error) ([]float64, error) { return []float64{ms}, err }
