package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// TestMain lets the test binary be the client as well, which runs in a pane and is led through a
// socket.
func init() {
	if len(os.Args) == 3 && os.Args[1] == "client" {
		if err := serveClient(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// report is what the client has to say after each order.
type report struct {
	Pid      int
	Env      map[string]string
	Lines    []string // sent by Enter at the prompt
	Approved int      // Enters at a dialog
	Input    string   // in the input line
	Loose    string   // typed outside of a bracketed paste, but for Enter
	Err      string
}

// client draws a prompt in raw mode, with bracketed paste.
type client struct {
	report
	mode    string // idle; dialog: in place of the input; overlay: above it; deaf: Enter does nothing
	armed   string // the mode after the next paste
	pasting bool
	buf     []byte // not taken apart yet
	cooked  *term.State
	editor  *exec.Cmd
	hold    *os.File // the editor ends when this is closed
	keys    chan []byte
}

func serveClient(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	c := &client{mode: "idle", keys: make(chan []byte)}
	c.Pid, c.Env = os.Getpid(), map[string]string{}
	for _, key := range []string{"TMUX", "TMUX_PANE"} {
		c.Env[key] = os.Getenv(key)
	}
	if c.cooked, err = term.MakeRaw(0); err != nil {
		return err
	}
	os.Stdout.WriteString("\x1b[?2004h")
	go func() {
		for {
			buf := make([]byte, 4096)
			n, err := os.Stdin.Read(buf)
			if err != nil && !errors.Is(err, unix.EIO) { // which another program in the foreground makes
				return
			}
			c.keys <- buf[:n]
		}
	}()
	orders := make(chan string)
	go func() {
		defer close(orders)
		for in := bufio.NewScanner(conn); in.Scan(); {
			orders <- in.Text()
		}
	}()
	c.draw()
	for {
		select {
		case keys := <-c.keys:
			c.take(keys)
		case order, ok := <-orders:
			if !ok {
				return nil
			}
			c.Err = ""
			if err := c.obey(order); err != nil {
				c.Err = err.Error()
			}
			if err := json.NewEncoder(conn).Encode(c.report); err != nil {
				return err
			}
		}
	}
}

func (c *client) obey(order string) error {
	verb, arg, _ := strings.Cut(order, " ")
	switch verb {
	case "mode":
		c.mode = arg
	case "arm":
		c.armed = arg
	case "draft":
		c.Input = arg
	case "cook":
		term.Restore(0, c.cooked)
		return nil
	case "edit":
		return c.edit()
	case "close":
		c.hold.Close()
		c.editor.Wait()
		return unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
	}
	// Twice: what was typed before the first answer is drawn before the second.
	for range 2 {
		c.draw()
		c.ask()
	}
	return nil
}

// edit runs a program in the foreground, as an editor, that reads nothing.
func (c *client) edit() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	c.hold, c.editor = w, exec.Command("cat")
	c.editor.Stdin = r
	c.editor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true} // of the terminal at 0
	return c.editor.Start()
}

var answer = regexp.MustCompile(`^\x1b\[\d+;\d+R`)

// ask returns when the terminal has drawn everything: it answers in order where its cursor is.
func (c *client) ask() {
	os.Stdout.WriteString("\x1b[6n")
	for !c.take(<-c.keys) {
	}
}

// take reads keys, and says whether the terminal's answer was among them.
func (c *client) take(keys []byte) (answered bool) {
	c.buf = append(c.buf, keys...)
	for len(c.buf) > 0 {
		switch {
		case bytes.HasPrefix(c.buf, []byte("\x1b[200~")):
			c.pasting, c.buf = true, c.buf[6:]
		case bytes.HasPrefix(c.buf, []byte("\x1b[201~")):
			c.pasting, c.buf = false, c.buf[6:]
			if c.armed != "" {
				c.mode, c.armed = c.armed, ""
			}
		case answer.Match(c.buf):
			c.buf, answered = c.buf[len(answer.Find(c.buf)):], true
		case c.buf[0] == '\x1b' && len(c.buf) < 12 && !bytes.ContainsAny(c.buf[1:], "~R\x1b"):
			return answered // the rest comes
		default:
			c.key(c.buf[0])
			c.buf = c.buf[1:]
		}
	}
	c.draw()
	return answered
}

func (c *client) key(b byte) {
	if !c.pasting && b != '\r' {
		c.Loose += string(rune(b))
	}
	switch {
	case b == '\r' && (c.mode == "dialog" || c.mode == "overlay"):
		c.Approved++
		c.mode = "idle"
	case b == '\r' && c.mode == "idle":
		c.Lines, c.Input = append(c.Lines, c.Input), ""
	case b == 0x15: // Ctrl-U
		c.Input = ""
	case b >= ' ' && c.mode != "dialog":
		c.Input += string(rune(b))
	}
}

func (c *client) draw() {
	text := "\x1b[2J\x1b[HThe client\r\n"
	for _, l := range c.Lines {
		text += "> " + l + "\r\n"
	}
	switch c.mode {
	case "dialog":
		text += "\r\nDo you want to run rm?\r\n> 1. Yes"
	case "overlay":
		text += "\r\nDo you want to run rm?\r\n1. Yes\r\n> " + c.Input
	case "moving":
		text += fmt.Sprintf("%p\r\n> ", new(byte))
	default:
		text += "\r\n> " + c.Input
	}
	os.Stdout.WriteString(text)
}
