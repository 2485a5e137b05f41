package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

const shown = 20 << 20 // bytes

// window is a program on a terminal of its own.
type window struct {
	*os.File
	cmd *exec.Cmd
}

func (w *world) window(argv []string) (window, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.home, w.env("birch")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	return window{f, cmd}, err
}

// ways returns three ways to run a shell command: directly, in script(1), and in c2c start.
func (w *world) ways(command string) [3][]string {
	return [3][]string{
		{"sh", "-c", command},
		{"script", "-q", "-c", command, "/dev/null"},
		{w.program("c2c"), "start", "sh", "--", "-c", command},
	}
}

// terminalRows compare a program in c2c's terminal with one in script's, and with one in a bare
// terminal.
func terminalRows() []row {
	return []row{
		{name: "key echoed in c2c start, beyond a bare terminal", do: func(w *world) ([]float64, error) {
			ours, err := w.key(2)
			bare, err2 := w.key(0)
			return []float64{ours - bare}, errors.Join(err, err2)
		}, aim: 0.3, with: withTerminals},
		{name: "key echoed in c2c start", do: func(w *world) ([]float64, error) { return one(w.key(2)) }, limit: "in script(1)",
			against: func(w *world) ([]float64, error) { return one(w.key(1)) }, with: withTerminals},
		{name: "cat of 20 MB in c2c start", do: shows(2), limit: "in script(1)", against: shows(1), aim: 1.4},
		{name: "cat of 20 MB in c2c start", do: shows(2), limit: "in a bare terminal", against: shows(0), most: fewest},
	}
}

// withTerminals starts three programs that echo each key.
func withTerminals(w *world) error {
	for i, argv := range w.ways("stty raw -echo; echo ready; exec cat") {
		win, err := w.window(argv)
		if err != nil {
			return err
		}
		w.windows[i] = win
		w.running = append(w.running, win.end)
		if err := win.await("ready\n"); err != nil {
			return err
		}
	}
	return nil
}

// key types a key into one of the programs and waits for it to come back.
func (w *world) key(way int) (float64, error) {
	time.Sleep(2 * time.Millisecond) // no person types faster; after this time all programs are idle again
	start := time.Now()
	if _, err := w.windows[way].Write([]byte("k")); err != nil {
		return 0, err
	}
	got := make([]byte, 16)
	k, err := w.windows[way].Read(got)
	if err == nil && string(got[:k]) != "k" {
		err = fmt.Errorf("typed k, got %q", got[:k])
	}
	return since(start), err
}

// shows makes a program write a long file, and reads it all.
func shows(way int) action {
	return func(w *world) ([]float64, error) {
		path := filepath.Join(w.home, "long")
		line := strings.Repeat("0123456789", 8)[:79] + "\n"
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, []byte(strings.Repeat(line, shown/len(line))), 0o600); err != nil {
				return nil, err
			}
		}
		argv := w.ways("exec cat " + path)[way]
		start := time.Now()
		win, err := w.window(argv)
		if err != nil {
			return nil, err
		}
		defer win.end()
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{win}, make([]byte, 64<<10))
		took := since(start)
		if want := int64(shown / len(line) * (len(line) + 1)); !errors.Is(err, syscall.EIO) || n != want {
			return nil, fmt.Errorf("%v: %d of %d bytes: %w", argv, n, want, err)
		}
		return []float64{took}, nil
	}
}

// await reads until a word appears.
func (w window) await(word string) error {
	var all []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(all, []byte(word)) {
		n, err := w.Read(buf)
		if err != nil {
			return fmt.Errorf("%v: %w; it wrote %q", w.cmd.Args, err, all)
		}
		all = append(all, buf[:n]...)
	}
	return nil
}

// end closes the terminal and ends its programs: script(1) would continue without a terminal.
func (w window) end() error {
	w.Close()
	syscall.Kill(w.cmd.Process.Pid, syscall.SIGKILL)
	w.cmd.Wait()
	return nil
}
