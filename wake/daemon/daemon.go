// Package daemon runs one background process for each root, the wake daemon.
//
// Whoever holds the lock of wake.lock is the daemon; wake.pid says which process that is, and wake.log has what
// it says. A crash leaves the last two, which then mean nothing.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Files of the daemon, in the root.
const (
	lockFile = "wake.lock"
	pidFile  = "wake.pid"
	logFile  = "wake.log"
)

const (
	maxLog   = 1 << 20 // when a daemon that starts begins its log anew, in bytes
	stopTime = 10 * time.Second
	lookTime = 10 * time.Millisecond // between two looks whether it runs
)

// Daemon is the wake daemon of a root.
type Daemon struct{ Dir *atomicfile.Dir }

// Log is the path of its log.
func (d Daemon) Log() string { return filepath.Join(d.Dir.Path(), logFile) }

// Run is the daemon: it works until ctx ends.
func (d Daemon) Run(ctx context.Context, work func(context.Context)) (err error) {
	lock, err := filelock.Open(d.Dir, lockFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if ok, err := lock.Try(); err != nil || !ok {
		pid, _ := d.PID()
		return errors.Join(err, fmt.Errorf("a wake daemon runs already, process %d; c2c wake stop ends it", pid))
	}
	if err := d.Dir.Replace(pidFile, strconv.AppendInt(nil, int64(os.Getpid()), 10)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Dir.Remove(pidFile)) }()
	work(ctx)
	return nil
}

// PID is the daemon's process, 0 when none runs. It makes no lock file, and does not take the lock: a daemon
// that starts at that moment would think that another one runs.
func (d Daemon) PID() (pid int, err error) {
	lock, err := d.Dir.Open(lockFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	if free, err := filelock.FreeFile(lock); err != nil || free {
		return 0, err
	}
	text, err := d.Dir.Read(pidFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it has just begun, or is about to end
	}
	if err != nil {
		return 0, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s holds %.20q and no process", pidFile, text)
	}
	return pid, nil
}

// Start runs this program with args, and returns its process when that is the daemon. Of the environment it gets
// what names places, and more by name.
func (d Daemon) Start(ctx context.Context, env, more []string, args ...string) (pid int, err error) {
	log, err := d.openLog()
	if err != nil {
		return 0, err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find c2cd: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = append(places(env, more), "C2C_MCP_BROKER_ROOT="+d.Dir.Path())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the terminal
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the wake daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		// An error is an old file, in whose place it puts its own.
		if pid, err := d.PID(); err == nil && pid == cmd.Process.Pid {
			return pid, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-ended:
			return 0, fmt.Errorf("the wake daemon did not start; %s tells why", d.Log())
		case <-time.After(lookTime):
		}
	}
}

func (d Daemon) openLog() (*os.File, error) {
	log, err := d.Dir.Open(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	info, err := log.Stat()
	if err == nil && info.Size() > maxLog {
		err = log.Truncate(0)
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("begin %s anew: %w", logFile, err)
	}
	return log, nil
}

// places leaves out what may be a key: it would stay in the daemon's memory for weeks.
func places(env, more []string) []string {
	names := append([]string{"HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_STATE_HOME",
		"XDG_RUNTIME_DIR", "TMUX_TMPDIR", "SCREENDIR"}, more...)
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, name)
	})
}

// Stop returns when the daemon has ended, and which process it was; 0: none ran.
func (d Daemon) Stop(ctx context.Context) (pid int, err error) {
	if pid, err = d.PID(); err != nil || pid == 0 {
		return pid, err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return pid, fmt.Errorf("end the wake daemon, process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	lock, err := filelock.Acquire(ctx, d.Dir, lockFile) // it has it until it ends
	if err != nil {
		return pid, fmt.Errorf("wait for the wake daemon to end: %w", err)
	}
	return pid, lock.Release()
}
