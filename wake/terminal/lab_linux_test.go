package terminal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"c2c/e2e/need"
)

// tooLong is when a test gives up.
const muxTooLong = time.Minute

// lab is a client in a pane of a tmux of its own.
type lab struct {
	t    *testing.T
	dir  string
	conn net.Conn
	in   *bufio.Reader
	said report
}

// newLab starts the client in a pane.
func newLab(t *testing.T) *lab {
	t.Helper()
	need.Tools(t, "tmux")
	dir, err := os.MkdirTemp("", "mux-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &lab{t: t, dir: dir}
	ctl, err := net.Listen("unix", filepath.Join(dir, "ctl"))
	if err != nil {
		t.Fatal(err)
	}
	defer ctl.Close()
	client := []string{os.Args[0], "client", ctl.Addr().String()}
	l.tmux(append([]string{"-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "--"}, client...)...)
	pid, err := strconv.Atoi(strings.TrimSpace(l.tmux("display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	ctl.(*net.UnixListener).SetDeadline(time.Now().Add(muxTooLong))
	if l.conn, err = ctl.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.conn.Close() }) // which ends the client
	l.in = bufio.NewReader(l.conn)
	l.say("sync")
	return l
}

func (l *lab) env() []string {
	return []string{"HOME=" + l.dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "SHELL=/bin/sh"}
}

// tmux runs a command of tmux.
func (l *lab) tmux(args ...string) string {
	l.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(l.dir, "tmux")}, args...)...)
	cmd.Env = l.env()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("tmux %q: %v: %s", args, err, errs.Bytes())
	}
	return string(out)
}

// say gives the client an order, and returns when it is carried out and drawn.
func (l *lab) say(order string) report {
	l.t.Helper()
	l.conn.SetDeadline(time.Now().Add(muxTooLong))
	fmt.Fprintln(l.conn, order)
	data, err := l.in.ReadBytes('\n')
	l.said = report{}
	if err == nil {
		err = json.Unmarshal(data, &l.said)
	}
	if err == nil && l.said.Err != "" {
		err = errors.New(l.said.Err)
	}
	if err != nil {
		l.t.Fatalf("%s: %v", order, err)
	}
	return l.said
}

// bell is for the client, a minute after everything was typed, and waits until the client has
// drawn. It is for a client that answers, even on a busy machine.
func (l *lab) bell() *PaneDoorbell {
	l.t.Helper()
	pane, err := PaneHere(func(key string) string { return l.said.Env[key] })
	if err != nil {
		l.t.Fatal(err)
	}
	return &PaneDoorbell{Pane: pane, Client: "lab", Process: l.said.Pid, prompt: labPrompt, Getenv: l.getenv,
		now: func() time.Time { return time.Now().Add(time.Minute) }, answer: muxTooLong / 2,
		wait: func(context.Context, time.Duration) error {
			l.say("sync")
			return nil
		}}
}

func (l *lab) getenv(key string) string {
	for _, v := range l.env() {
		if value, ok := strings.CutPrefix(v, key+"="); ok {
			return value
		}
	}
	return ""
}

// labPrompt reads the client's prompt: above it the title, what was sent, and an empty line.
func labPrompt(s *Screen) (draft string, err error) {
	row, _, _ := s.Position()
	top := row
	for top > 0 && !strings.HasPrefix(LineText(s.Line(top)), ">") {
		top--
	}
	for i := 1; i < s.Rows(); i++ {
		line := strings.TrimSpace(LineText(s.Line(i)))
		sent := i < top-1 && (strings.HasPrefix(line, "> <c2c ") || strings.HasSuffix(line, "c2c>"))
		if (i < top || i > row) && line != "" && !sent {
			return "", fmt.Errorf("what is %q", line)
		}
	}
	for i := top; i <= row; i++ {
		draft += LineText(s.Line(i))
	}
	return strings.TrimSpace(strings.TrimPrefix(draft, ">")), nil
}

// untouched fails unless the client got nothing at all.
func (l *lab) untouched(input string) {
	l.t.Helper()
	if r := l.say("sync"); len(r.Lines) > 0 || r.Approved > 0 || r.Loose != "" || r.Input != input {
		l.t.Errorf("the client got %+v", r)
	}
}

// person is somebody at a terminal with the pane.
type muxPerson struct {
	t    *testing.T
	tty  *os.File
	seen []byte
}

func (l *lab) attach() *muxPerson {
	l.t.Helper()
	cmd := exec.Command("tmux", "-S", filepath.Join(l.dir, "tmux"), "attach")
	cmd.Env = l.env()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 25, Cols: 80}) // with its status line
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		tty.Close()
	})
	p := &muxPerson{t: l.t, tty: tty}
	p.see("The client")
	return p
}

func (p *muxPerson) types(keys string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// see reads until text has been drawn.
func (p *muxPerson) see(text string) {
	p.t.Helper()
	buf := make([]byte, 4096)
	for !bytes.Contains(p.seen, []byte(text)) {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(p.tty.Fd()), Events: unix.POLLIN}}, int(muxTooLong.Milliseconds()))
		if err == unix.EINTR {
			continue
		} else if ready == 0 || err != nil {
			p.t.Fatalf("%q is not drawn, only %q, %v", text, p.seen, err)
		}
		n, err := p.tty.Read(buf)
		p.seen = append(p.seen, buf[:n]...)
		if err != nil {
			p.t.Fatalf("%v before %q was drawn, only %q", err, text, p.seen)
		}
	}
	p.seen = p.seen[bytes.Index(p.seen, []byte(text))+len(text):]
}

// gone waits for the end of a process that is not our child.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
		if err != unix.EINTR {
			if n != 1 || err != nil {
				t.Fatalf("process %d does not end: %v", pid, err)
			}
			return
		}
	}
}
