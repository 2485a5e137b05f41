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

const (
	keys      = 500
	shown     = 100 << 20 // bytes
	showTimes = 5
)

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

// ways are those to run a shell's command: as it is, in script(1), and in c2c start.
func (w *world) ways(command string) [3][]string {
	return [3][]string{
		{"sh", "-c", command},
		{"script", "-q", "-c", command, "/dev/null"},
		{w.program("c2c"), "start", "sh", "--", "-c", command},
	}
}

// terminal compares a program in a terminal of c2c's with one in script's, and with a bare one.
func (b *bench) terminal() error {
	columns()
	if _, err := exec.LookPath("script"); err != nil {
		return err
	}
	bare, scripted, ours, err := b.now.echo()
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	f := figure{what: fmt.Sprintf("key echoed in c2c start (%d keys)", keys), got: ours}
	f.against("in a bare terminal (aim: 0.3 ms more)", "", bare)
	f.against("in script(1)", "", scripted)
	bare, scripted, ours, err = b.now.show()
	if err != nil {
		return fmt.Errorf("show: %w", err)
	}
	f = figure{what: fmt.Sprintf("cat of 100 MB in c2c start (%d times)", showTimes), got: ours}
	f.against("in a bare terminal", "", bare)
	f.against("in script(1)", "1.4", scripted)
	return nil
}

// against prints a row with one of several limits.
func (f figure) against(limit, aim string, base []float64) {
	f.limit, f.aim, f.base = limit, aim, base
	f.print()
}

// echo types keys into three programs that write back each, in turn.
func (w *world) echo() (bare, scripted, ours []float64, err error) {
	var windows [3]window
	var took [3][]float64
	for i, argv := range w.ways("stty raw -echo; echo ready; exec cat") {
		if windows[i], err = w.window(argv); err != nil {
			return nil, nil, nil, err
		}
		defer windows[i].end()
		if err := windows[i].await("ready\n"); err != nil {
			return nil, nil, nil, err
		}
	}
	for n := range warmUps + keys {
		key := []byte{byte('a' + n%26)}
		for i, win := range windows {
			time.Sleep(2 * time.Millisecond) // nobody types faster, and everything is at rest again
			start := time.Now()
			if _, err := win.Write(key); err != nil {
				return nil, nil, nil, err
			}
			got := make([]byte, 16)
			if k, err := win.Read(got); err != nil || !bytes.Equal(got[:k], key) {
				return nil, nil, nil, fmt.Errorf("typed %q, got %q: %w", key, got[:k], err)
			}
			if n >= warmUps {
				took[i] = append(took[i], since(start))
			}
		}
	}
	return took[0], took[1], took[2], nil
}

// show has three programs write a long file, in turn, and reads it all.
func (w *world) show() (bare, scripted, ours []float64, err error) {
	path := filepath.Join(w.home, "long")
	line := strings.Repeat("0123456789", 8)[:79] + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, shown/len(line))), 0o600); err != nil {
		return nil, nil, nil, err
	}
	var took [3][]float64
	for range showTimes {
		for i, argv := range w.ways("exec cat " + path) {
			start := time.Now()
			win, err := w.window(argv)
			if err != nil {
				return nil, nil, nil, err
			}
			n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{win}, make([]byte, 64<<10))
			took[i] = append(took[i], since(start))
			if want := int64(shown / len(line) * (len(line) + 1)); !errors.Is(err, syscall.EIO) || n != want {
				return nil, nil, nil, fmt.Errorf("%v: %d of %d bytes: %w", argv, n, want, err)
			}
			win.end()
		}
	}
	return took[0], took[1], took[2], nil
}

// await reads until a word has come.
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

// end closes the terminal and ends what runs on it; script(1) goes on without one.
func (w window) end() {
	w.Close()
	syscall.Kill(w.cmd.Process.Pid, syscall.SIGKILL)
	w.cmd.Wait()
}
