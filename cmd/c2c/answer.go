package main

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
)

// answer is the standard output. It keeps what a command prints until flush,
// so that the command hears whether its answer was written.
type answer struct {
	to   io.Writer
	text []byte
}

func (o *answer) Write(p []byte) (int, error) {
	o.text = append(o.text, p...)
	return len(p), nil
}

// flush writes what was printed so far, with nothing in it that steers a terminal.
func (a *app) flush() error {
	o := a.stdout.(*answer)
	if len(o.text) == 0 {
		return nil
	}
	text := o.text
	o.text = nil
	if _, err := (&mail.VisibleWriter{W: o.to}).Write(text); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// handOver is flush for an answer with mail, which is archived after it: to a
// file it must be on the disk, and to a standard output that nobody has opened
// it is not written.
func (a *app) handOver() error {
	f, ok := a.stdout.(*answer).to.(*os.File)
	if ok && closed(f) {
		return fmt.Errorf("write answer: standard output is closed, or is %s opened for reading and writing", os.DevNull)
	}
	if err := a.flush(); err != nil || !ok {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return f.Sync()
	}
	return nil
}

// shellRoom is how many bytes of our output a client's shell passes on to its model, and how many of them a line
// takes at the least; 0 when no client's shell reads it, or all is passed on. Claude Code's shell gives us a file, which is the standard error too.
// above is the client of the session below which we run.
func (a *app) shellRoom(above string) (room, line int) {
	out, ok := a.stdout.(*answer).to.(*os.File)
	if ok {
		info, err := out.Stat()
		if err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return 0, 0
		}
		if info.Mode().IsRegular() {
			errs, ok := a.stderr.(*mail.VisibleWriter).W.(*os.File)
			if !ok {
				return 0, 0
			}
			other, err := errs.Stat()
			if err != nil || !os.SameFile(info, other) {
				return 0, 0
			}
		}
	}
	return client.ShellRoom(a.getenv, above)
}

// closed says whether a standard stream was closed when we started: the Go
// runtime then opens /dev/null for reading and writing in its place. A parent that throws our answer away
// may have opened it so, too (Python, Node): only mail is held back by it, no other command fails.
func closed(f *os.File) bool {
	info, err := f.Stat()
	null, nerr := os.Stat(os.DevNull)
	if err != nil || nerr != nil || !os.SameFile(info, null) {
		return false
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	return errno == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR
}

// printf prints a part of an answer.
func (a *app) printf(format string, words ...any) { cli.Printf(a.stdout, format, words...) }

// show prints v with --json, else the text.
func (c *call) show(v any, text func()) error {
	if c.json {
		return cli.JSON(c.stdout, v)
	}
	text()
	return nil
}
