package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"c2c/wake/terminal"
)

// Proc is a running client, on a terminal of its own or with pipes. It ends with the test at the
// latest.
type Proc struct {
	Out *Log // all of the client's output, with its standard error

	t     testing.TB
	view  *view         // the screen of its terminal; nil with pipes
	pause time.Duration // the time that the client needs between a screen and the next key
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	done  chan struct{}
	err   error // Wait's error; valid when done is closed
}

// start runs argv with pipes. Standard input stays open until CloseInput.
func start(t testing.TB, dir string, env []string, argv ...string) *Proc {
	t.Helper()
	p := newProc(t, dir, env, argv)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	p.cmd.Stdout, p.cmd.Stderr = p.Out, p.Out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Wait only for the client itself: a daemon that it has started keeps the pipes open.
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	go p.reap(func() {})
	return p
}

const rows, columns = 40, 120

// startTerminal runs argv on a new terminal.
func startTerminal(t testing.TB, dir string, env []string, argv ...string) *Proc {
	t.Helper()
	p := newProc(t, dir, env, argv)
	blocking, err := pty.StartWithSize(p.cmd, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	// The read must be stoppable at the program's end, because a process that the client leaves
	// behind keeps the terminal open.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, unix.SetNonblock(fd, true), blocking.Close()); err != nil {
		t.Fatalf("open the terminal of %s: %v", p.name, err)
	}
	tty := os.NewFile(uintptr(fd), blocking.Name())
	p.in = tty
	p.view = &view{screen: terminal.NewScreen(rows, columns)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			p.view.Write(buf[:n])
			p.Out.Write(buf[:n]) // also wakes the waiting tests
			io.WriteString(tty, terminalAnswers(buf[:n]))
			if err != nil {
				return // EIO: the last process on the tty has ended
			}
		}
	}()
	go p.reap(func() {
		// Wait a moment for the last output. A daemon that the client has started keeps the tty
		// open.
		select {
		case <-read:
		case <-time.After(time.Second):
		}
		tty.Close()
		<-read
	})
	return p
}

func newProc(t testing.TB, dir string, env []string, argv []string) *Proc {
	p := &Proc{t: t, name: strings.Join(argv, " "), Out: newLog(), done: make(chan struct{})}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir, p.cmd.Env = dir, env
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s: %v; %s", p.name, p.err, p.end())
		}
	})
	return p
}

// end returns the output that helps a person to find out why a client did not behave as expected.
func (p *Proc) end() string {
	if p.view == nil {
		return "the end of its output:\n" + p.Out.tail(6000)
	}
	p.view.mu.Lock()
	defer p.view.mu.Unlock()
	return "its screen:\n" + p.view.screen.String()
}

func (p *Proc) reap(after func()) {
	p.err = p.cmd.Wait()
	if errors.Is(p.err, exec.ErrWaitDelay) {
		p.err = nil
	}
	after()
	close(p.done)
	p.Out.end()
}

// Pid returns the client's process id.
func (p *Proc) Pid() int { return p.cmd.Process.Pid }

// Kill kills the client and its process group with SIGKILL, as in a crash.
func (p *Proc) Kill() {
	if p.cmd.Process == nil {
		return
	}
	select {
	case <-p.done:
	default:
		syscall.Kill(-p.Pid(), syscall.SIGKILL)
	}
	<-p.done
}

// Wait waits until the client ends by itself, and returns its output. If its exit status is not 0,
// the test fails.
func (p *Proc) Wait() string {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%s did not end in %v", p.name, patience)
	}
	if p.err != nil {
		p.t.Fatalf("%s: %v", p.name, p.err)
	}
	return p.Out.String()
}

// CloseInput closes the client's standard input.
func (p *Proc) CloseInput() { p.in.Close() }

// Send writes text to the client as it is: keys on a terminal, bytes in a pipe.
func (p *Proc) Send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatalf("write to %s: %v", p.name, err)
	}
}

// Keys on a terminal.
const (
	Enter = "\r"
	Esc   = "\x1b"
	Down  = "\x1b[B"
	CtrlC = "\x03"
)

// Submit pastes text into the prompt and presses Enter. Most clients accept both in a single write.
func (p *Proc) Submit(text string) {
	p.t.Helper()
	if p.pause > 0 {
		p.Command(text)
		return
	}
	p.Send("\x1b[200~" + text + "\x1b[201~" + Enter)
}

// TypeSlowly makes later calls pause before each key. It is for a client that loses keys that come
// as fast as a program types.
func (p *Proc) TypeSlowly() { p.pause = 300 * time.Millisecond }

// Command types a slash command, waits until the screen shows it, and presses Enter.
func (p *Proc) Command(command string) {
	p.t.Helper()
	mark := p.Out.Mark()
	time.Sleep(p.pause)
	p.Send(command)
	p.WaitScreen(mark, command)
	time.Sleep(p.pause)
	p.Send(Enter)
}

// WaitScreen waits until the client has drawn one of the texts after mark, and returns the text's
// index. Blanks and control sequences do not count, because clients also move the cursor instead of
// writing spaces.
func (p *Proc) WaitScreen(mark int, texts ...string) int {
	p.t.Helper()
	found := -1
	ok := p.Out.wait(func(all []byte) bool {
		screen := squeeze(all[mark:])
		for i, text := range texts {
			if strings.Contains(screen, squeeze([]byte(text))) {
				found = i
				return true
			}
		}
		return false
	})
	if !ok {
		p.t.Fatalf("%s did not show %q", p.name, texts)
	}
	return found
}

// WaitShown waits until the terminal shows one of the texts, and returns the text's index. Blanks
// do not count. Unlike WaitScreen it finds a text that the client has drawn in pieces, and finds no
// text that the client has overwritten.
func (p *Proc) WaitShown(texts ...string) int {
	p.t.Helper()
	found := -1
	ok := p.Out.wait(func([]byte) bool {
		shown := p.view.String()
		found = slices.IndexFunc(texts, func(text string) bool { return strings.Contains(shown, squeeze([]byte(text))) })
		return found >= 0
	})
	if !ok {
		p.t.Fatalf("%s does not show %q", p.name, texts)
	}
	return found
}

// WaitGone waits until the terminal no longer shows text.
func (p *Proc) WaitGone(text string) {
	p.t.Helper()
	if !p.Out.wait(func([]byte) bool { return !strings.Contains(p.view.String(), squeeze([]byte(text))) }) {
		p.t.Fatalf("%s still shows %q", p.name, text)
	}
}

// view is the screen of a terminal.
type view struct {
	mu     sync.Mutex
	screen *terminal.Screen
}

func (v *view) Write(b []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.screen.Write(b)
}

// String returns the text of all lines, without blanks.
func (v *view) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return squeeze([]byte(v.screen.String()))
}

// WaitLine waits until a line of the output after mark contains text, and returns that line.
func (p *Proc) WaitLine(mark int, text string) string {
	p.t.Helper()
	var line string
	ok := p.Out.wait(func(all []byte) bool {
		for l := range bytes.Lines(all[mark:]) {
			if bytes.HasSuffix(l, []byte("\n")) && bytes.Contains(l, []byte(text)) {
				line = string(l)
				return true
			}
		}
		return false
	})
	if !ok {
		p.t.Fatalf("%s did not write a line with %q", p.name, text)
	}
	return line
}

// Log collects output, and tests can wait for output.
type Log struct {
	mu      sync.Mutex
	data    []byte
	ended   bool
	changed chan struct{} // closed and replaced when output comes
}

func newLog() *Log { return &Log{changed: make(chan struct{})} }

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, p...)
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.changed)
	l.changed = make(chan struct{})
}

// Mark returns the present length of the output. Later waits can start there.
func (l *Log) Mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.data)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data)
}

// wait reports whether ok has returned true before the writer ended and before patience was over.
func (l *Log) wait(ok func([]byte) bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		l.mu.Lock()
		data, ended, changed := l.data, l.ended, l.changed
		l.mu.Unlock()
		if ok(data) {
			return true
		}
		if ended {
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (l *Log) tail(n int) string {
	text := strings.ReplaceAll(controls.ReplaceAllString(l.String(), " "), "\r", "\n")
	return text[max(0, len(text)-n):]
}

// controls matches the escape sequences that terminals act on: CSI, OSC and the two-byte ones.
var controls = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[@-Z\\-_=>78]`)

// squeeze returns the text without control sequences and blanks.
func squeeze(b []byte) string {
	return strings.Join(strings.Fields(string(controls.ReplaceAll(b, nil))), "")
}

// terminalAnswers returns the answers of a terminal to the queries in output. Codex waits for some
// of them.
func terminalAnswers(output []byte) string {
	var answers string
	for question, answer := range map[string]string{
		"\x1b[6n":   "\x1b[1;1R",                        // query: where is the cursor
		"\x1b[c":    "\x1b[?62;c",                       // query: which terminal is this
		"\x1b]10;?": "\x1b]10;rgb:cccc/cccc/cccc\x1b\\", // foreground
		"\x1b]11;?": "\x1b]11;rgb:0000/0000/0000\x1b\\", // background
	} {
		if bytes.Contains(output, []byte(question)) {
			answers += answer
		}
	}
	return answers
}

// stopAll kills every process whose HOME is home, and returns when they have ended. Daemons that a
// client starts leave its process group but keep its environment. During execve a process shows no
// environment for a moment, so stopAll must find no process twice in a row.
func stopAll(home string) error {
	for none := 0; none < 2; none++ {
		pids, err := processesOf(home)
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			none = -1
		}
		for _, pid := range pids {
			if err := Stop(pid); err != nil {
				return fmt.Errorf("stop process %d: %w", pid, err)
			}
		}
	}
	return nil
}

func processesOf(home string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that has ended meanwhile has no environment.
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+home+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// WaitSettled waits until all processes in the lab have been idle for a while. Some clients read no
// keys for a moment after their screen is complete.
func (l *Lab) WaitSettled() {
	l.t.Helper()
	const looks = 20 // checks of WaitUntil
	quiet := 0
	l.WaitUntil("end of what runs in "+l.Home, func() bool {
		quiet++
		pids, err := processesOf(l.Home)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, pid := range pids {
			if works(pid) {
				quiet = 0
			}
		}
		return quiet >= looks
	})
}

// works reports whether a thread of a process runs or is ready to run.
func works(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(threads, func(path string) bool {
		stat, _ := os.ReadFile(path) // an error: the thread has ended
		_, after, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(after, "R") || strings.HasPrefix(after, "D")
	})
}

// Screen returns what the terminal shows now.
func (p *Proc) Screen() string {
	p.view.mu.Lock()
	defer p.view.mu.Unlock()
	return p.view.screen.String()
}
