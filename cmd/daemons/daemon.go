package daemons

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/serve"
)

const (
	lookAgain = 50 * time.Millisecond // between two checks while the daemon begins or ends
	reapTime  = 10 * time.Second      // how long Reap waits for another process's lock
)

// Daemon is the HTTP daemon of this user. Commands start, stop and query it through this type.
type HTTPDaemon struct {
	daemon.Daemon
	State *atomicfile.Dir // nil: c2c has no state directory yet
	Port  int
}

// Open opens the daemon's files. If create is true, it makes missing files.
func Open(getenv func(string) string, create bool) (*HTTPDaemon, error) {
	path, source := project.StateDir(getenv)
	if path == "" || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("find the state directory: set XDG_STATE_HOME or HOME to an absolute path (%s is %q)", source, path)
	}
	d := &HTTPDaemon{Daemon: daemon.Daemon{Name: "serve", What: "HTTP daemon", Verb: "serve"}}
	open := atomicfile.Open
	if create {
		open = atomicfile.Create
	}
	state, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	d.State = state
	d.Dir, err = state.Sub(serve.FilesDir, create)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, state.Close())
	}
	return d, nil
}

// Close closes the files.
func (d *HTTPDaemon) Close() {
	if d.Dir != nil {
		d.Dir.Close()
	}
	if d.State != nil {
		d.State.Close()
	}
}

// Settled returns the daemon's process, 0 if none runs, and whether it answers. A killed daemon still holds its lock for a moment, and
// a new daemon does not answer yet. So Settled checks again and again until answerTime is over.
func (d *HTTPDaemon) Settled(ctx context.Context) (pid int, up bool, err error) {
	late := time.After(answerTime)
	for {
		if pid, err = d.PID(); err != nil || pid == 0 {
			return 0, false, err
		}
		if at, err := serve.ReadAt(d.State); err == nil && Answers(ctx, at.Port) {
			return pid, true, nil
		}
		select {
		case <-ctx.Done():
			return pid, false, context.Cause(ctx)
		case <-late:
			return pid, false, nil
		case <-time.After(lookAgain):
		}
	}
}

// Reap removes the port file that a killed daemon has left, and reports whether there was one.
func (d *HTTPDaemon) Reap(ctx context.Context) (bool, error) {
	if d.Dir == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reapTime)
	defer cancel()
	return serve.Reap(ctx, d.State, d.Runs)
}
