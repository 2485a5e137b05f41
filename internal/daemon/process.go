package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	maxLog    = 1 << 20               // bytes; when a process starts, a larger log becomes <name>.log.old
	startTime = 30 * time.Second      // how long a start may take
	stopTime  = 25 * time.Second      // how long an end may take; the part serve may need 20 s
	lookTime  = 10 * time.Millisecond // the time between two checks of what another process does

	lockVariable = "C2C_DAEMON_LOCK" // what Lock.Pass has returned, for the program that the daemon executes
)

// Process is one background process. The process that holds the lock on <name>.lock is the one that
// counts. The text of that file is its process id; other processes write another text there to make
// it end (none), or execute another program (the program's path). After a crash the text stays, so
// only the lock proves that the process runs. Its reports are in <name>.log.
type Process struct {
	Dir          *atomicfile.Dir // the directory of its files; nil if the directory does not exist, so that it does not run
	Name         string          // the prefix of the names of its files
	What         string          // its name for people
	Verb         string          // the command of c2c with the subcommands start and stop for it
	ExtraPIDFile string          // the path of a second file for its process id; empty: none
}

func (d Process) lockFile() string { return d.Name + ".lock" }
func (d Process) logFile() string  { return d.Name + ".log" }

// Log returns the path of the process's log.
func (d Process) Log() string { return filepath.Join(d.Dir.Path(), d.logFile()) }

// Run makes this process the one that counts. It calls the function work, and returns when work has
// returned. It cancels the context of work when ctx ends, or when another process wants an end.
func (d Process) Run(ctx context.Context, work func(context.Context) error) (err error) {
	lock, err := atomicfile.Passed(d.Dir, d.lockFile(), os.Getenv(lockVariable))
	if err != nil {
		return err
	}
	os.Unsetenv(lockVariable)
	defer func() { err = errors.Join(err, lock.Release()) }()
	if ok, err := lock.Try(); err != nil || !ok {
		return cmp.Or(err, d.errRuns())
	}
	if d.ExtraPIDFile != "" { // comes first: a program that has read the id in the lock file may read the extra file next
		if err := d.writeExtraPIDFile(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.removeExtraPIDFile()) }()
	}
	if err := d.say(pidLine()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.say("")) }()
	until, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- work(until)
	}()
	changes := watch.NewChanges()
	defer changes.Close()
	said := ""
	changes.Until(until, lock.Path(), func() (over bool, err error) {
		said, err = d.said()
		return err == nil && said != pidLine(), nil
	})
	stop()
	if err := <-ended; err != nil || !filepath.IsAbs(said) || ctx.Err() != nil {
		return err
	}
	fd, err := lock.Pass()
	if err == nil {
		program := strings.TrimSpace(said)
		err = fmt.Errorf("run %s: %w", program, syscall.Exec(program, append([]string{program}, os.Args[1:]...), append(os.Environ(), lockVariable+"="+fd)))
	}
	return err
}

func pidLine() string { return strconv.Itoa(os.Getpid()) + "\n" }

// say writes a text into the lock file, which makes the running process look there. It comes before
// what was there is cut off, so that no reader sees less than the whole text.
func (d Process) say(text string) error {
	f, err := d.Dir.Open(d.lockFile(), os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Truncate(int64(len(text))), f.Close())
}

func (d Process) said() (string, error) {
	text, err := d.Dir.ReadIf(d.lockFile())
	return string(text), err
}

// Free returns nil if no such process runs; otherwise the error says which process it is.
func (d Process) Free() error {
	runs, err := d.Runs()
	if err == nil && runs && os.Getenv(lockVariable) == "" { // otherwise this process has the lock
		err = d.errRuns()
	}
	return err
}

func (d Process) errRuns() error {
	process := ""
	if pid, _ := d.PID(); pid != 0 {
		process = fmt.Sprintf(", process %d", pid)
	}
	return fmt.Errorf("the %s runs already%s; c2c %s stop ends it", d.What, process, d.Verb)
}

// Runs reports whether the process runs. It makes no lock file, and does not take the lock.
// Otherwise a process that starts at that moment would find the lock taken, and would believe that
// another one runs.
func (d Process) Runs() (bool, error) {
	if d.Dir == nil {
		return false, nil
	}
	return d.Dir.IsHeld(d.lockFile())
}

// Killed reports whether the last such process was killed, and none runs now.
func (d Process) Killed() (bool, error) {
	runs, err := d.Runs()
	if err != nil || runs {
		return false, err
	}
	said, err := d.said()
	return said != "", err
}

// PID returns the process id, as the process itself sees it; 0 if it does not run, has just begun or
// is about to end. It is only for people to read: in another PID namespace another process may have
// this id.
func (d Process) PID() (pid int, err error) {
	if runs, err := d.Runs(); err != nil || !runs {
		return 0, err
	}
	said, err := d.said()
	pid, _ = strconv.Atoi(strings.TrimSpace(said))
	return max(pid, 0), err
}

// Start starts this program a second time, as the background process, with args and env in the
// directory dir. It returns the process id when that process has the lock.
func (d Process) Start(ctx context.Context, dir string, env []string, args ...string) (pid int, err error) {
	if err := atomicfile.Rotate(d.Dir, d.logFile(), d.logFile()+".old", maxLog); err != nil {
		return 0, err
	}
	log, err := d.Dir.Open(d.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the process outlives the terminal
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the %s: %w", d.What, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
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

// whySince returns the error lines that the process has written to its log from offset on.
func (d Process) whySince(offset int64) string {
	log, err := d.Dir.Read(d.logFile())
	if err != nil {
		return err.Error()
	}
	var why []string
	for line := range strings.Lines(string(log[min(offset, int64(len(log))):])) {
		if text, ok := strings.CutPrefix(line, "c2c: "); ok {
			why = append(why, strings.TrimSpace(text))
		}
	}
	return strings.Join(why, "\n")
}

// SafeEnv returns the variables in env that are known to hold no secret, which would stay in the
// memory of the daemon for weeks. It returns none of a session, because a session may start the
// daemon.
func SafeEnv(env []string) []string {
	names := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK",
		"C2C_STORM_HOPS", "C2C_ROOM_WAKES"}
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, name) && !strings.HasSuffix(name, "_HOME") && !strings.HasSuffix(name, "_CONFIG_DIR")
	})
}

// Stop ends the process and returns when it has ended. It says so again and again, because a process
// that is just starting may write its id after the first time. ran is false if none ran.
func (d Process) Stop(ctx context.Context) (ran bool, err error) {
	err = d.await(ctx, stopTime, d.What, "end", func(context.Context) (bool, error) {
		runs, err := d.Runs()
		if err != nil || !runs {
			return true, err
		}
		ran = true
		return false, d.say("")
	})
	return ran, err
}

// Restart makes the process execute this program in its place, so that it stays the process that
// systemd or a terminal waits for. ran is false if none runs, or if it has ended instead.
func (d Process) Restart(ctx context.Context) (ran bool, err error) {
	if ran, err = d.Runs(); err != nil || !ran {
		return false, err
	}
	self, err := os.Executable()
	if err == nil {
		err = d.say(self + "\n")
	}
	if err == nil {
		err = d.await(ctx, stopTime, d.What, "end", func(context.Context) (bool, error) {
			if pid, err := d.PID(); err != nil || pid != 0 {
				return true, err
			}
			if ran, err = d.Runs(); err != nil || !ran {
				return true, err
			}
			f, err := d.Dir.Open(d.lockFile(), os.O_WRONLY) // perhaps the process could not read it: let it look again
			if err == nil {
				err = f.Close()
			}
			return false, err
		})
	}
	return ran, err
}

// await calls the function over until it returns true: until then, what is named what does not do
// what the process has to make it do.
func (d Process) await(ctx context.Context, most time.Duration, what, do string, over func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not within %v", most))
	defer cancel()
	pid, _ := d.PID() // only for the message
	for {
		over, err := over(ctx)
		if over || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("wait for the %s to %s: %w", what, do, context.Cause(ctx))
			if pid != 0 {
				err = fmt.Errorf("%w; if process %d is stopped, kill -CONT %[2]d lets it go on", err, pid)
			}
			return err
		case <-time.After(lookTime):
		}
	}
}
