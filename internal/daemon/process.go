package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"c2c/internal/atomicfile"
	"c2c/wake/watch"
)

const (
	maxLog   = 1 << 20               // bytes; when a daemon starts, a larger log is emptied
	stopTime = 25 * time.Second      // how long Stop waits for the end; the part serve may need 20 s
	lookTime = 10 * time.Millisecond // the time between two checks whether the daemon runs
)

// Process is one background process. The process that holds the lock on <name>.lock is the one that
// counts. It writes its process id into <name>.pid and its reports into <name>.log. After a crash all
// three files stay, so no file proves that it runs. It ends when somebody removes <name>.pid.
type Process struct {
	Dir          *atomicfile.Dir // the directory of its files; nil if the directory does not exist, so that it does not run
	Name         string          // the prefix of the names of its files
	What         string          // its name for people
	Verb         string          // the command of c2c with the subcommands start and stop for it
	ExtraPIDFile string          // the path of a second file for its process id; empty: none
	// Prepare, if set, is called with the lock held, before other processes can see that the daemon
	// runs. If Prepare fails, the daemon does not run.
	Prepare func() error
}

func (d Process) lockFile() string { return d.Name + ".lock" }
func (d Process) pidFile() string  { return d.Name + ".pid" }
func (d Process) logFile() string  { return d.Name + ".log" }

// Log returns the path of the daemon's log.
func (d Process) Log() string { return filepath.Join(d.Dir.Path(), d.logFile()) }

// Run makes this process the daemon. It calls the function work, and returns when work has
// returned. When ctx ends or the pid file is removed, Run cancels the context of work.
func (d Process) Run(ctx context.Context, work func(context.Context)) (err error) {
	lock, err := atomicfile.OpenLocked(d.Dir, d.lockFile())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	ok, err := lock.Try()
	if err != nil {
		return err
	}
	if !ok {
		pid, _ := d.PID()
		return d.errRuns(pid)
	}
	if d.Prepare != nil {
		if err := d.Prepare(); err != nil {
			return err
		}
	}
	if d.ExtraPIDFile != "" { // comes first: a program that has read the daemon's own pid file may read the extra file next
		if err := d.writeExtraPIDFile(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.removeExtraPIDFile()) }()
	}
	if err := d.Dir.Replace(d.pidFile(), pidLine()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.removePID()) }()
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer stop()
		work(ctx)
	}()
	defer func() { stop(); <-done }()
	changes := watch.NewChanges()
	defer changes.Close()
	changes.Until(ctx, filepath.Join(d.Dir.Path(), d.pidFile()), d.stopped)
	return nil
}

// Free returns nil if no daemon runs; otherwise the error says which process is the daemon.
func (d Process) Free() error {
	pid, err := d.PID()
	if err == nil && pid != 0 {
		err = d.errRuns(pid)
	}
	return err
}

// errRuns returns the error for a daemon that runs already. pid is 0 if the daemon has only just
// begun.
func (d Process) errRuns(pid int) error {
	process := ""
	if pid != 0 {
		process = fmt.Sprintf(", process %d", pid)
	}
	return fmt.Errorf("another %s runs already%s; c2c %s stop ends it", d.What, process, d.Verb)
}

func pidLine() []byte { return append(strconv.AppendInt(nil, int64(os.Getpid()), 10), '\n') }

// stopped reports whether the pid file is gone or was replaced.
func (d Process) stopped() (bool, error) {
	text, err := d.Dir.Read(d.pidFile())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, pidLine()), nil
}

func (d Process) removePID() error {
	if err := d.Dir.Remove(d.pidFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Runs reports whether the daemon runs. It makes no lock file, and does not take the lock.
// Otherwise a daemon that starts at that moment would find the lock taken, and would believe that
// another daemon runs.
func (d Process) Runs() (bool, error) {
	if d.Dir == nil {
		return false, nil
	}
	lock, err := d.Dir.Open(d.lockFile(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	free, err := atomicfile.FreeFile(lock)
	return err == nil && !free, err
}

// Killed reports whether the last daemon was killed: no daemon runs, but its pid file is still
// there.
func (d Process) Killed() (bool, error) {
	if runs, err := d.Runs(); err != nil || runs {
		return false, err
	}
	_, err := d.Dir.Stat(d.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// PID returns the daemon's process id, as the daemon itself sees it; 0 if no daemon runs. It is
// only for people to read: in another PID namespace another process may have this id.
func (d Process) PID() (pid int, err error) {
	if runs, err := d.Runs(); err != nil || !runs {
		return 0, err
	}
	text, err := d.Dir.Read(d.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // the daemon has just begun, or is about to end
	}
	if err != nil {
		return 0, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 1 {
		return 0, fmt.Errorf("%s contains %.20q instead of a process id", d.pidFile(), text)
	}
	return pid, nil
}

// Start starts this program a second time, as the daemon, with args and env in the directory dir.
// It returns the process id when the daemon has the lock and has written its pid file.
func (d Process) Start(ctx context.Context, dir string, env []string, args ...string) (pid int, err error) {
	log, err := d.openLog()
	if err != nil {
		return 0, err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find c2cd: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the daemon outlives the terminal
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the %s: %w", d.What, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		// Ignore an error: it may come from an old pid file, which the daemon will replace.
		if pid, err := d.PID(); err == nil && pid == cmd.Process.Pid {
			return pid, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case end := <-ended:
			why := d.whySince(begin)
			if why == "" { // perhaps the log cannot be written
				_, err := fmt.Fprintf(log, "the %s ended: %v\n", d.What, end)
				why = fmt.Sprint(cmp.Or(err, end))
			}
			return 0, fmt.Errorf("the %s did not start (%s): %s", d.What, d.Log(), why)
		case <-time.After(lookTime):
		}
	}
}

// whySince returns the error lines that the daemon has written to its log from offset on.
func (d Process) whySince(offset int64) string {
	log, err := d.Dir.Open(d.logFile(), os.O_RDONLY)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	said, _ := io.ReadAll(io.NewSectionReader(log, offset, maxLog))
	var why []string
	for line := range strings.Lines(string(said)) {
		if text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "c2c: "); ok {
			why = append(why, text)
		}
	}
	return strings.Join(why, "\n")
}

func (d Process) openLog() (*os.File, error) {
	log, err := d.Dir.Open(d.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	info, err := log.Stat()
	if err == nil && info.Size() > maxLog {
		err = log.Truncate(0)
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("empty %s: %w", d.logFile(), err)
	}
	return log, nil
}

// SafeEnv returns the variables in env that are known to hold no secret, and those whose names are
// in more. Any other variable may hold a secret key, which would stay in the daemon's memory for
// weeks.
func SafeEnv(env, more []string) []string {
	names := append([]string{"HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_STATE_HOME",
		"XDG_RUNTIME_DIR"}, more...)
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, name)
	})
}

// Stop ends the daemon and returns when it has ended. It removes the pid file repeatedly, because a
// daemon that is just starting may write the file after the first removal. ran is false if no
// daemon ran.
func (d Process) Stop(ctx context.Context) (ran bool, err error) {
	err = d.await(ctx, d.What, func() (bool, error) {
		runs, err := d.Runs()
		if err != nil || !runs {
			return true, err
		}
		ran = true
		return false, d.removePID()
	})
	return ran, err
}

// await calls the function ended until it returns true: until then, what is named what may still
// run in the process.
func (d Process) await(ctx context.Context, what string, ended func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTime, fmt.Errorf("it still runs after %v", stopTime))
	defer cancel()
	pid, _ := d.PID() // only for the message
	for {
		if over, err := ended(); over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("wait for the %s to end: %w", what, context.Cause(ctx))
			if pid != 0 {
				err = fmt.Errorf("%w; if process %d is stopped, kill -CONT %[2]d lets it end", err, pid)
			}
			return err
		case <-time.After(lookTime):
		}
	}
}
