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

// answer is the standard output. It keeps all text that a command prints, until flush writes the
// text. So the command learns whether the whole answer was written.
type answer struct {
	to   io.Writer
	text []byte
}

func (o *answer) Write(p []byte) (int, error) {
	o.text = append(o.text, p...)
	return len(p), nil
}

// flush writes the buffered text, without control characters.
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

// flushDurably is flush for an answer with mail. Afterwards the caller archives the mail, so the
// answer must not get lost: flushDurably also syncs an output file, and returns an error if the
// standard output was closed when this process started.
func (a *app) flushDurably() error {
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

// shellRoom is for a command in a client's shell. room is the number of bytes of output that the
// shell passes on to the model; 0: no such shell reads the output, or the shell passes on
// everything. A line of fewer than minLine bytes counts as minLine bytes. If the output is a file,
// a shell reads it only if standard error is the same file. The argument ofSession is the client of
// this process's session.
func (a *app) shellRoom(ofSession string) (room, minLine int) {
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
	return client.ShellRoom(a.getenv, ofSession)
}

// closed reports whether the Go runtime has opened /dev/null in place of a standard stream. The
// runtime does this, for reading and writing, if the stream is closed when the program starts. A
// parent that discards the answer (Python, Node) may have opened /dev/null in the same way, and
// closed cannot see the difference. So only commands that hand over mail use it.
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

// show prints v as JSON if --json is set. Otherwise it calls the function text, which prints the
// answer as text.
func (c *call) show(v any, text func()) error {
	if c.json {
		return cli.JSON(c.stdout, v)
	}
	text()
	return nil
}
