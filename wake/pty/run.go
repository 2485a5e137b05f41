package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// drainTime bounds the reading of what a client drew before it ended.
const drainTime = 200 * time.Millisecond

// Config says what to run and where.
type Config struct {
	Argv    []string // the path of the program first
	Env     []string
	Dir     string
	In, Out *os.File // the person's terminal
	// Started is called once with the client's process, before anything of it is shown.
	Started func(pid int) error
}

// IsTerminal says whether a person can be at the other end.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// session is one run.
type session struct {
	in, out *os.File
	master  *os.File
	pid     int
	cooked  *term.State // of the person's terminal, before us
}

// Run runs the client until it ends and returns its exit status as a shell would: 128 and the signal when
// one ended it.
func Run(cfg Config) (status int, err error) {
	cmd := &exec.Cmd{Path: cfg.Argv[0], Args: cfg.Argv, Env: cfg.Env, Dir: cfg.Dir}
	size, err := pty.GetsizeFull(cfg.In)
	if err != nil {
		return 0, fmt.Errorf("ask the terminal for its size: %w", err)
	}
	master, err := pty.StartWithSize(cmd, size)
	if err != nil {
		return 0, fmt.Errorf("start %s in a terminal: %w", cfg.Argv[0], err)
	}
	s := &session{in: cfg.In, out: cfg.Out, pid: cmd.Process.Pid}
	if s.master, err = pollable(master); err != nil {
		unix.Kill(-s.pid, unix.SIGHUP)
		return 0, err
	}
	if cfg.Started != nil {
		if err := cfg.Started(s.pid); err != nil {
			unix.Kill(-s.pid, unix.SIGHUP)
			return 0, err
		}
	}
	if s.cooked, err = term.MakeRaw(int(s.in.Fd())); err != nil {
		unix.Kill(-s.pid, unix.SIGHUP)
		return 0, fmt.Errorf("prepare the terminal: %w", err)
	}
	defer term.Restore(int(s.in.Fd()), s.cooked)
	return s.carry()
}

// pollable gives the terminal in a form whose reads can be ended.
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

// resize gives the client's terminal the size of the person's.
func (s *session) resize() {
	size, err := unix.IoctlGetWinsize(int(s.in.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return // it is gone; SIGHUP follows
	}
	conn, err := s.master.SyscallConn() // Fd would make it block
	if err == nil {
		conn.Control(func(fd uintptr) { unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
	}
}

// carry moves bytes and signals until the client has ended.
func (s *session) carry() (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	go func() {
		for sig := range signals {
			s.pass(sig.(syscall.Signal))
		}
	}()
	defer close(signals)

	var drawn sync.WaitGroup
	drawn.Go(func() { io.Copy(s.out, s.master) }) // ends with EIO, when the last process has closed the terminal
	// A read of the person's terminal cannot be ended from here; this goroutine ends with the program.
	go io.Copy(s.master, s.in)

	status, err = s.wait()
	// What it has drawn is there already. Something it left in the background may keep the terminal open.
	s.master.SetReadDeadline(time.Now().Add(drainTime))
	drawn.Wait()
	return status, errors.Join(err, s.master.Close())
}

func (s *session) pass(sig syscall.Signal) {
	if sig == syscall.SIGWINCH {
		s.resize()
		return
	}
	unix.Kill(-s.pid, sig)
}

// wait also follows a client that stops itself, as clients do at Ctrl-Z: then we stop too, so that the
// person's shell has its terminal back, and go on with it. (The kernel does not stop it for the key: a
// session leader's group is an orphan to it.)
func (s *session) wait() (status int, err error) {
	for {
		var ws unix.WaitStatus
		if _, err := unix.Wait4(s.pid, &ws, unix.WUNTRACED, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("wait for the client: %w", err)
		}
		switch {
		case ws.Stopped():
			s.suspend()
		case ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}

func (s *session) suspend() {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	term.Restore(int(s.in.Fd()), s.cooked)
	unix.Kill(unix.Getpid(), unix.SIGSTOP)
	<-goOn // this thread may run on for a moment after the kill
	term.MakeRaw(int(s.in.Fd()))
	s.resize() // the window may have another size by now
	unix.Kill(-s.pid, unix.SIGCONT)
}
