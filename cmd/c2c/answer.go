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

// answer is the standard output. It keeps the text that a command prints until flush writes it. So the command learns whether its
// answer was written.
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

// handOver is flush for an answer with mail. The caller archives the mail after handOver. So handOver also syncs a file, and returns an
// error if the standard output was closed.
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

// shellRoom returns how many bytes of c2c's output a client's shell passes on to its model. The shell counts a shorter line as line
// bytes. room is 0 if no client's shell reads the output, or if the shell passes on everything. Claude Code's shell uses one file for
// standard output and standard error. above is the client of the session in which this process runs.
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

// closed reports whether a standard stream was closed when this process started. In its place the Go runtime opens /dev/null for
// reading and writing. A parent that discards the answer may have opened /dev/null in the same way (Python, Node). So only a command
// that hands over mail fails because of closed.
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

// show prints v as JSON with --json, and otherwise calls text.
func (c *call) show(v any, text func()) error {
	if c.json {
		return cli.JSON(c.stdout, v)
	}
	text()
	return nil
}
