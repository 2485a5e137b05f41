// This part runs a program and waits for its end. It replaces os/exec. That package adds 170 kB, which every hook would load, although
// few commands of c2c start a program.

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// MaxSays bounds a program's output, in bytes. c2c expects less: a URL or a path.
const MaxSays = 64 << 10

// MaxTime is how long a program may run. Git and c2cd need milliseconds, but a suspended program never ends.
const MaxTime = 5 * time.Second

// Run runs a program in dir, without input, and returns its output. The program's standard error goes to errs; nil drops it. Run
// kills a program that prints more than MaxSays bytes or runs longer than MaxTime.
func Run(program, dir string, errs *os.File, args ...string) (said string, err error) {
	return run(MaxTime, program, dir, errs, args...)
}

func run(limit time.Duration, program, dir string, errs *os.File, args ...string) (said string, err error) {
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer nothing.Close()
	if errs == nil {
		errs = nothing
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	// The inherited PWD names the directory of this process, and git may trust it.
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "PWD=") })
	pid, err := syscall.ForkExec(program, append([]string{filepath.Base(program)}, args...), &syscall.ProcAttr{
		Dir: dir, Env: append(env, "PWD="+dir), Files: []uintptr{nothing.Fd(), w.Fd(), errs.Fd()}})
	w.Close()
	if err != nil {
		return "", fmt.Errorf("run %q: %w", program, err)
	}
	r.SetReadDeadline(time.Now().Add(limit))
	text, err := io.ReadAll(io.LimitReader(r, MaxSays))
	r.Close()
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if late || len(text) == MaxSays {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	werr := wait(pid, program)
	if late {
		return "", fmt.Errorf("%q has not ended within %s, and was stopped", program, limit)
	}
	return string(text), errors.Join(err, werr)
}

func wait(pid int, program string) error {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, &status, 0, nil)
	}
	switch {
	case err != nil:
		return fmt.Errorf("wait for %q: %w", program, err)
	case status.Signaled():
		return fmt.Errorf("%q was ended by a signal: %v", program, status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("%q ended with status %d", program, status.ExitStatus())
	}
	return nil
}
