package codex

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"c2c/internal/proc"
	"c2c/wake"
)

// queueTime is how long `codex queue` may run.
const queueTime = 10 * time.Second

// queue is the doorbell for a terminal that runs without the daemon. The command `codex queue` puts
// the text of the ring into Codex's own queue. Such a terminal reads the queue about every nine
// seconds (measured: 4.2 to 9.0).
type queue struct {
	Home       string
	Thread     string
	Unattended bool // ring even if no terminal shows the thread
	Getenv     func(string) string
}

// Ring implements wake.Doorbell.
func (q *queue) Ring(ctx context.Context, n wake.Notice) error {
	p, found := writer(processes(q.Home), q.Thread)
	switch {
	case !found:
		return fmt.Errorf("%w: no process has thread %s open", wake.ErrUnreachable, q.Thread)
	case slices.Contains(p.args, "exec"):
		return fmt.Errorf("%w: `codex exec` ends with its answer", wake.ErrUnreachable)
	case !p.terminal && !q.Unattended:
		return wake.ErrAway
	}
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	program, _ := proc.Executable(p.pid)
	cmd := exec.CommandContext(ctx, program, "queue", "--thread", q.Thread, "--message", n.Text(wake.Poll))
	// Pass only these variables, which hold paths: others may hold secret keys.
	cmd.Env = []string{"HOME=" + q.Getenv("HOME"), "PATH=" + q.Getenv("PATH"), "CODEX_HOME=" + q.Home}
	cmd.WaitDelay = time.Second // do not wait longer for a child process of codex
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: codex queue: %v: %.200q", wake.ErrUncaptured, err, out)
	}
	return nil
}
