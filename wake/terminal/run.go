// Package terminal runs a client, that is, an AI program, in a terminal of its own inside the
// person's terminal. It passes the person's keys to the client and the client's output to the
// person, byte for byte. It also passes on the terminal's size, the exit status, signals and
// suspension. It writes nothing to disk.
package terminal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

const (
	// restTime is how long c2c waits for more output after the client has ended.
	restTime = 200 * time.Millisecond
	// stuckTime is how long c2c tries to show this last output, because the person's terminal may
	// block.
	stuckTime = 2 * time.Second
)

// Config names the client to run, and where to run it.
type Config struct {
	Argv    []string // the path of the program first
	Leader  string   // the path of a program that calls Lead if its first argument is LeadVerb
	Env     []string
	Dir     string
	In, Out *os.File // the input and output of the person's terminal
	// Client is the client's name, by which c2c knows how the client draws its prompt.
	Client string
}

// IsTerminal reports whether f is a terminal, so that a person can be at the other end.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Terminal is a client that runs in a terminal of ours.
type Terminal struct {
	in, out *os.File
	master  *os.File
	leader  int // see Lead
	pid     int
	cooked  *term.State // the state of the person's terminal before Run
	client  string
	limits  limits
	signals chan os.Signal // signals to forward to the client

	keys chan struct{} // a lock on the client's input: full while c2c writes the person's keys, or types for Ring

	mu      sync.Mutex // guards the fields below
	screen  *Screen
	pressed time.Time     // when the person's last key came
	drawn   time.Time     // when the client last drew
	drew    chan struct{} // gets a value when the client has drawn; has room for one
	ended   bool          // the client has ended
}

// Start starts the client. The caller must then call Run or Abandon.
func Start(cfg Config) (*Terminal, error) {
	size, err := pty.GetsizeFull(cfg.In)
	if err != nil {
		return nil, fmt.Errorf("ask the terminal for its size: %w", err)
	}
	hear, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer hear.Close()
	cmd := &exec.Cmd{Path: cfg.Leader, Args: append([]string{cfg.Leader, LeadVerb}, cfg.Argv...), Env: cfg.Env, Dir: cfg.Dir, ExtraFiles: []*os.File{told}}
	// Call signal.Notify before the start. Otherwise the client would also ignore a signal that
	// this process ignores, such as SIGHUP under nohup, and so would outlive its terminal.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	master, err := pty.StartWithSize(cmd, size)
	told.Close()
	pid := 0
	if err == nil {
		if pid, err = clientOf(hear); err != nil {
			master.Close()
		}
	}
	if err != nil {
		signal.Stop(signals)
		return nil, fmt.Errorf("start %s in a terminal: %w", cfg.Argv[0], err)
	}
	t := &Terminal{in: cfg.In, out: cfg.Out, leader: cmd.Process.Pid, pid: pid, client: cfg.Client, limits: usual, signals: signals,
		screen: NewScreen(int(size.Rows), int(size.Cols)), drew: make(chan struct{}, 1), keys: make(chan struct{}, 1)}
	if t.master, err = pollable(master); err != nil {
		t.Abandon()
		return nil, err
	}
	return t, nil
}

// clientOf returns the process id of the client that the leader has started.
func clientOf(leader io.Reader) (pid int, err error) {
	said, err := io.ReadAll(leader)
	if err != nil {
		return 0, err
	}
	if pid, err = strconv.Atoi(string(said)); err != nil {
		return 0, errors.New(cmp.Or(string(said), "the leader of the terminal has ended"))
	}
	return pid, nil
}

// PID returns the client's process id.
func (t *Terminal) PID() int { return t.pid }

// Abandon ends the client, for a caller that will not call Run.
func (t *Terminal) Abandon() { unix.Kill(-t.pid, unix.SIGHUP) }

// Run shows the client to the person until the client ends. It returns the client's exit status as
// a shell would: 128 plus the signal if a signal ended the client.
func (t *Terminal) Run() (status int, err error) {
	if t.cooked, err = term.MakeRaw(int(t.in.Fd())); err != nil {
		t.Abandon()
		return 0, fmt.Errorf("prepare the terminal: %w", err)
	}
	defer term.Restore(int(t.in.Fd()), t.cooked)
	return t.relay()
}

// pollable returns the terminal as a file whose reads can have a deadline.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd()))
	if err == nil {
		unix.CloseOnExec(fd)
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, fmt.Errorf("open the client's terminal: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// resize gives the client's terminal the size of the person's terminal.
func (t *Terminal) resize() {
	size, err := unix.IoctlGetWinsize(int(t.in.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return // the person's terminal is gone; SIGHUP follows
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Resize(int(size.Row), int(size.Col))
	if !t.ended {
		unix.IoctlSetWinsize(t.fd(), unix.TIOCSWINSZ, size)
	}
}

// fd returns the descriptor of the client's terminal, which is valid until the client has ended.
// The method Fd does not make this file blocking, because package os has not opened the file.
func (t *Terminal) fd() int { return int(t.master.Fd()) }

// relay moves bytes and signals until the client has ended.
func (t *Terminal) relay() (status int, err error) {
	defer func() {
		signal.Stop(t.signals) // before the close: a signal to a closed channel would end the program
		close(t.signals)
	}()
	go func() {
		for sig := range t.signals {
			t.forward(sig.(syscall.Signal))
		}
	}()

	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		io.Copy(t.out, io.TeeReader(drawing{t}, screenWriter{t})) // ends with EIO when the last process has closed the terminal
	}()
	// Nothing can stop a read from the person's terminal, so this goroutine ends only with the
	// program.
	go io.Copy(keyboard{t}, t.in)

	status, err = wait(t.leader, t.suspend)
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.master.SetReadDeadline(time.Now().Add(restTime))
	select {
	case <-drawn:
	case <-time.After(stuckTime):
	}
	return status, errors.Join(err, t.master.Close())
}

// drawing reads the client's output. After the client has ended, one of its background processes
// may keep the terminal open, so each read then has a deadline.
type drawing struct{ t *Terminal }

func (d drawing) Read(b []byte) (int, error) {
	d.t.mu.Lock()
	if d.t.ended {
		d.t.master.SetReadDeadline(time.Now().Add(restTime))
	}
	d.t.mu.Unlock()
	return d.t.master.Read(b)
}

func (t *Terminal) forward(sig syscall.Signal) {
	if sig == syscall.SIGWINCH {
		t.resize()
		return
	}
	unix.Kill(-t.pid, sig)
}

// stopTime is how long suspend waits to be stopped.
const stopTime = 100 * time.Millisecond

// suspend stops this process after the client has stopped itself at Ctrl-Z, so that the person's
// shell gets the terminal back. It stops the whole group, because a script may have started c2c.
// Later this process and the client continue together. Without a shell that could continue them,
// the kernel drops the signal, and the client continues at once.
func (t *Terminal) suspend() {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	term.Restore(int(t.in.Fd()), t.cooked)
	unix.Kill(0, unix.SIGTSTP)
	select {
	case <-goOn:
	case <-time.After(stopTime):
	}
	term.MakeRaw(int(t.in.Fd()))
	t.resize() // the window may have another size by now
	unix.Kill(t.leader, unix.SIGCONT)
}
