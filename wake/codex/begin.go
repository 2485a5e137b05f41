package codex

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"c2c/wake"
)

// daemonTime is how long the start of Codex's daemon may take. The first start copies the program.
const daemonTime = time.Minute

// embedded has the options with which a terminal runs without the daemon, and the commands that
// begin no new session (0.169.0).
var embedded = map[string]bool{
	"-c": true, "--config": true, "-p": true, "--profile": true, "--search": true, "--no-daemon": true, "--remote": true, "--dangerously-bypass-hook-trust": true,
	"resume": true, "fork": true, "exec": true, "e": true, "review": true, "queue": true, "agents": true,
}

// Begin begins a thread in the daemon. It returns the thread's id, and the arguments with which
// Codex shows the thread. If no daemon runs, Begin starts one. A terminal can show only a thread
// with at least one item. So Begin adds an item, which tells the model its alias. The terminal does
// not show this item.
//
// The terminal itself could begin the thread, but then c2c could not find this thread. Codex does
// not report which thread a terminal has begun, and two terminals may begin one at the same time.
func Begin(ctx context.Context, s wake.Start) (id string, args []string, err error) {
	for _, arg := range s.Args {
		name, _, _ := strings.Cut(arg, "=")
		if embedded[name] || strings.HasPrefix(name, "-c") && !strings.HasPrefix(name, "--") {
			then := "have the session call c2c's tool me"
			if name == "resume" {
				then = "a session that is resumed keeps its name"
			}
			return "", nil, fmt.Errorf("a session of Codex takes no name with %s: leave --alias out; %s", name, then)
		}
	}
	c, err := dial(ctx, s.Config)
	if errors.Is(err, wake.ErrUnreachable) {
		if err = startDaemon(ctx, s); err == nil {
			c, err = dial(ctx, s.Config)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("begin a session of Codex: %w", err)
	}
	defer c.close()
	var started struct{ Thread struct{ ID string } }
	if err := c.call(ctx, "thread/start", map[string]string{"cwd": s.Dir, "threadSource": ownName}, &started); err != nil {
		return "", nil, err
	}
	id = started.Thread.ID
	if filepath.Base(id) != id || id == "" || strings.HasPrefix(id, "-") {
		return "", nil, fmt.Errorf("begin a session of Codex: its id is %.80q", id)
	}
	text := map[string]string{"type": "input_text", "text": "Your alias in c2c is " + s.Alias + "."}
	item := map[string]any{"type": "message", "role": "developer", "content": []any{text}}
	if err := c.call(ctx, "thread/inject_items", map[string]any{"threadId": id, "items": []any{item}}, nil); err != nil {
		return "", nil, err
	}
	return id, append([]string{"resume", id}, s.Args...), nil
}

// startDaemon starts the daemon with the same command as Codex itself.
func startDaemon(ctx context.Context, s wake.Start) error {
	ctx, cancel := context.WithTimeout(ctx, daemonTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Path, "app-server", "daemon", "start")
	cmd.Dir, cmd.Env = s.Dir, s.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("codex app-server daemon start: %w: %.300q", err, out)
	}
	return nil
}
