package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"c2c/wake"
)

const (
	commandTime = 2 * time.Second // how long tmux may take for one command
	maxOutput   = 1 << 20         // bytes; a screen of 500 by 200 characters of four bytes needs less than half
)

// run runs tmux once and returns its output. No shell sees the arguments, and tmux gets no variables:
// -S names the server, and -u tells tmux that c2c reads UTF-8.
func (t *tmux) run(ctx context.Context, args ...string) (string, error) {
	timed, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(timed, t.path, append([]string{"-u", "-S", t.pane.Socket}, args...)...)
	cmd.Env, cmd.Dir = []string{}, "/" // our own environment may hold secret keys
	cmd.WaitDelay = time.Second
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	name := filepath.Base(t.path)
	switch {
	case err == nil:
		return out.buf.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case timed.Err() != nil:
		return "", fmt.Errorf("%s did not answer within %v", name, commandTime)
	case out.full || errs.full:
		return "", fmt.Errorf("%s wrote more than %d bytes", name, maxOutput)
	case errors.As(err, new(*exec.ExitError)): // no such server, session or pane
		return "", fmt.Errorf("%w: %s: %v: %.200q", wake.ErrUnreachable, name, err, errs.buf.String()+out.buf.String())
	}
	return "", fmt.Errorf("run %s: %w", name, err)
}

// bounded is a buffer with a size limit.
type bounded struct {
	buf  bytes.Buffer
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > maxOutput {
		b.full = true
		return 0, errors.New("full")
	}
	return b.buf.Write(p)
}
