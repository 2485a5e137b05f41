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

	"c2c/wake/screen"
)

// Proc is a client that runs, on a terminal of its own or with pipes. It ends with the test at the latest.
type Proc struct {
	Out *Log // all that it wrote, standard error included

	t     testing.TB
	view  *view         // of a terminal
	pause time.Duration // what the client needs between a screen and the next key, like a person
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	done  chan struct{}
	err   error // of Wait; valid when done is closed
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
	// A daemon that a client leaves behind keeps the pipes open; the client's own end is what counts.
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
	// Its end must end a read: GNU screen keeps the terminal open when the program that was started here has ended.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, unix.SetNonblock(fd, true), blocking.Close()); err != nil {
		t.Fatalf("open the terminal of %s: %v", p.name, err)
	}
	terminal := os.NewFile(uintptr(fd), blocking.Name())
	p.in = terminal
	p.view = &view{screen: screen.New(rows, columns)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 64<<10)
		for {
			n, err := terminal.Read(buf)
			p.view.Write(buf[:n])
			p.Out.Write(buf[:n]) // and wake what waits for it
			io.WriteString(terminal, terminalAnswers(buf[:n]))
			if err != nil {
				return // EIO: the last process on the terminal has gone
			}
		}
	}()
	go p.reap(func() {
		// What it wrote last may not be read yet. A daemon that it leaves behind keeps the terminal open.
		select {
		case <-read:
		case <-time.After(time.Second):
		}
		terminal.Close()
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

// end is what a person would look at when the client did not do as expected.
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

// Pid returns the client's process number.
func (p *Proc) Pid() int { return p.cmd.Process.Pid }

// Kill ends the client and its process group without a word, as a crash would.
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

// Wait returns the output when the client has ended by itself; any status but 0 fails the test.
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

// CloseInput ends the client's standard input.
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

// Submit pastes text into the prompt and presses Enter, which most clients take in one write.
func (p *Proc) Submit(text string) {
	p.t.Helper()
	if p.pause > 0 {
		p.Command(text)
		return
	}
	p.Send("\x1b[200~" + text + "\x1b[201~" + Enter)
}

// TypeSlowly is for a client that loses keys which come as fast as a program types.
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

// WaitScreen waits until one of the texts has been drawn after mark and returns its index. Blanks and
// control sequences do not count: clients draw with cursor movements as often as with spaces.
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

// WaitShown waits until the terminal shows one of the texts and returns its index. Blanks do not count. Unlike
// WaitScreen it sees a text that was drawn in pieces, and none that was drawn over.
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

// WaitGone waits until the terminal does not show text any more.
func (p *Proc) WaitGone(text string) {
	p.t.Helper()
	if !p.Out.wait(func([]byte) bool { return !strings.Contains(p.view.String(), squeeze([]byte(text))) }) {
		p.t.Fatalf("%s still shows %q", p.name, text)
	}
}

// view is what a terminal shows.
type view struct {
	mu     sync.Mutex
	screen *screen.Screen
}

func (v *view) Write(b []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.screen.Write(b)
}

// String is the text of all lines without blanks.
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

// Log collects output and lets tests wait for it.
type Log struct {
	mu      sync.Mutex
	data    []byte
	ended   bool
	changed chan struct{} // closed and replaced at every write
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

// Mark returns how much has been written, as a starting point for waits.
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

// wait reports whether ok came true before the writer ended and before patience ran out.
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

// squeeze drops control sequences and blanks.
func squeeze(b []byte) string {
	return strings.Join(strings.Fields(string(controls.ReplaceAll(b, nil))), "")
}

// terminalAnswers is what a terminal replies to the questions in output; Codex waits for some of them.
func terminalAnswers(output []byte) string {
	var answers string
	for question, answer := range map[string]string{
		"\x1b[6n":   "\x1b[1;1R",                        // where is the cursor
		"\x1b[c":    "\x1b[?62;c",                       // what are you
		"\x1b]10;?": "\x1b]10;rgb:cccc/cccc/cccc\x1b\\", // foreground
		"\x1b]11;?": "\x1b]11;rgb:0000/0000/0000\x1b\\", // background
	} {
		if bytes.Contains(output, []byte(question)) {
			answers += answer
		}
	}
	return answers
}

// stopAll ends every process that has home as its HOME, and returns when they are gone: the daemons
// that a client starts leave its process group but keep its environment. A process that is just beginning a program shows
// none for a moment, so there must be none twice.
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
			if err := stop(pid); err != nil {
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
		// A process that ended meanwhile has no environment any more.
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+home+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// WaitSettled waits until all that runs in the lab has only waited for a while. What a client draws does not always say that
// it reads keys.
func (l *Lab) WaitSettled() {
	l.t.Helper()
	const looks = 20 // of WaitUntil
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

// works says whether a thread of a process runs, or could.
func works(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return slices.ContainsFunc(threads, func(path string) bool {
		stat, _ := os.ReadFile(path) // it may have ended
		_, after, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(after, "R") || strings.HasPrefix(after, "D")
	})
}

// Screen is what the terminal shows now.
func (p *Proc) Screen() string {
	p.view.mu.Lock()
	defer p.view.mu.Unlock()
	return p.view.screen.String()
}
