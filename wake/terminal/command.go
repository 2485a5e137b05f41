package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"c2c/wake"
)

// commandTime is how long tmux or screen may take for one command.
const commandTime = 2 * time.Second

// command is the program tmux or screen, with the arguments that every call has.
type command struct {
	path string
	args []string
	env  []string // the whole environment of the program; our own may hold secret keys
}

// run runs the program once and returns its output. No shell sees the arguments.
func (c *command) run(ctx context.Context, args ...string) (string, error) {
	timed, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(timed, c.path, append(c.args[:len(c.args):len(c.args)], args...)...)
	cmd.Env, cmd.Dir = append([]string{}, c.env...), "/" // with nil, exec would use our own environment
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	name, ended := filepath.Base(c.path), new(exec.ExitError)
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case timed.Err() != nil:
		return "", fmt.Errorf("%s did not answer within %v", name, commandTime)
	case errors.As(err, &ended): // no such server, session or pane
		return "", fmt.Errorf("%w: %s: %v: %.200q", wake.ErrUnreachable, name, err, append(ended.Stderr, out...))
	}
	return "", fmt.Errorf("run %s: %w", name, err)
}
