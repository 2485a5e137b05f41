// This part runs a program and waits for its end.

package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"
)

// MaxSays bounds a program's output, in bytes. c2c expects less: a URL or a path.
const MaxSays = 64 << 10

// MaxTime is how long a program may run. Git and c2cd need milliseconds, but a suspended program
// never ends.
const MaxTime = 5 * time.Second

// Run runs a program in dir, without input, and returns its output. The program's standard error
// goes to errs; nil drops it. Run kills a program that prints more than MaxSays bytes or runs
// longer than MaxTime.
func Run(program, dir string, errs *os.File, args ...string) (said string, err error) {
	return run(MaxTime, program, dir, errs, args...)
}

func run(limit time.Duration, program, dir string, errs *os.File, args ...string) (said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if errs != nil {
		cmd.Stderr = errs
	}
	out, err := cmd.StdoutPipe()
	cmd.Cancel = func() error {
		out.Close() // a program that it has started may keep the other end open
		return cmd.Process.Kill()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if failed := new(fs.PathError); errors.As(err, &failed) {
			err = failed.Err // it names the program once more
		}
		return "", fmt.Errorf("run %q: %w", program, err)
	}
	text, err := io.ReadAll(io.LimitReader(out, MaxSays))
	if len(text) == MaxSays {
		cmd.Process.Kill()
	}
	err = errors.Join(err, cmd.Wait())
	if ctx.Err() != nil {
		return "", fmt.Errorf("%q has not ended within %s, and was stopped", program, limit)
	}
	if err != nil {
		err = fmt.Errorf("run %q: %w", program, err)
	}
	return string(text), err
}
