package main

import (
	"bufio"
	"context"
	"encoding/json"
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

	"c2c/broker"
	"c2c/inbox/filelock"
	"c2c/wake"
)

// Files of the daemon, in the root. Whoever has the lock is the daemon; the pid file says who that is.
const (
	daemonLock = "wake.lock"
	daemonPID  = "wake.pid"
	daemonLog  = "wake.log"
)

// maxDaemonLog is when a daemon that starts begins its log anew, in bytes.
const maxDaemonLog = 1 << 20

// readyVariable names the descriptor on which a daemon says that it runs.
const readyVariable = "C2C_WAKE_READY_FD"

// daemon is the wake daemon of one root, or somebody who commands it.
type daemon struct {
	a   *app
	b   *broker.Broker
	gap time.Duration
}

// run rings until ctx ends.
func (d *daemon) run(ctx context.Context) (err error) {
	lock, err := filelock.Open(d.b.Dir(), daemonLock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if ok, err := lock.Try(); err != nil || !ok {
		pid, _ := d.running()
		return errors.Join(err, fmt.Errorf("a wake daemon runs already, process %d; c2c wake stop ends it", pid))
	}
	if err := d.b.Dir().Replace(daemonPID, strconv.AppendInt(nil, int64(os.Getpid()), 10)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.b.Dir().Remove(daemonPID)) }()
	stop := (&ringer{a: d.a, reach: daemonReach{d.a}, log: d.a.log, last: true, gap: d.gap}).start(ctx)
	defer stop()
	d.a.log.Info("wake daemon runs", "process", os.Getpid(), "root", d.b.Root(), "min-inject-gap", d.gap)
	if fd, err := strconv.Atoi(d.a.getenv(readyVariable)); err == nil {
		ready := os.NewFile(uintptr(fd), "ready")
		fmt.Fprintln(ready, "ready")
		ready.Close()
	}
	<-ctx.Done()
	d.a.log.Info("wake daemon ends")
	return nil
}

// running gives the daemon's process, 0 when none runs. It makes no lock file, and does not take the lock:
// a daemon that starts at that moment would think that another one runs.
func (d *daemon) running() (pid int, err error) {
	lock, err := d.b.Dir().Open(daemonLock, os.O_RDONLY)
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
	text, err := d.b.Dir().Read(daemonPID)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it has just begun, or is about to end
	}
	if err != nil {
		return 0, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s holds %.20q and no process", daemonPID, text)
	}
	return pid, nil
}

// start returns when a daemon of its own runs.
func (d *daemon) start(ctx context.Context) error {
	if pid, err := d.running(); err != nil || pid != 0 {
		if err == nil {
			fmt.Fprintf(d.a.stdout, "wake daemon runs already, process %d\n", pid)
		}
		return err
	}
	log, err := d.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	ready, said, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find c2cd: %w", err)
	}
	cmd := exec.Command(self, "wake", "run", "--min-inject-gap", d.gap.String())
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = "/", log, log, []*os.File{said}
	cmd.Env = append(places(os.Environ()), "C2C_MCP_BROKER_ROOT="+d.b.Root(), readyVariable+"=3")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the terminal
	err = cmd.Start()
	said.Close()
	if err != nil {
		return fmt.Errorf("start the wake daemon: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { ready.Close() })
	defer stop()
	if line, _ := bufio.NewReader(ready).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("the wake daemon did not start; %s tells why", filepath.Join(d.b.Root(), daemonLog))
	}
	fmt.Fprintf(d.a.stdout, "wake daemon runs, process %d\n", cmd.Process.Pid)
	return cmd.Process.Release()
}

func (d *daemon) openLog() (*os.File, error) {
	log, err := d.b.Dir().Open(daemonLog, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	info, err := log.Stat()
	if err == nil && info.Size() > maxDaemonLog {
		err = log.Truncate(0)
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("begin %s anew: %w", daemonLog, err)
	}
	return log, nil
}

// places keeps what names places and limits, and leaves out the rest: it may be a key, and would stay in
// the daemon's memory for weeks.
func places(env []string) []string {
	names := []string{"HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"CODEX_HOME", "CLAUDE_CONFIG_DIR", "TMUX_TMPDIR", "SCREENDIR"}
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, name)
	})
}

// stop returns when the daemon has ended.
func (d *daemon) stop(ctx context.Context) error {
	pid, err := d.running()
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintln(d.a.stdout, "no wake daemon runs")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the wake daemon, process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	lock, err := filelock.Acquire(ctx, d.b.Dir(), daemonLock) // it has it until it ends
	if err != nil {
		return fmt.Errorf("wait for the wake daemon to end: %w", err)
	}
	fmt.Fprintf(d.a.stdout, "wake daemon ended, process %d\n", pid)
	return lock.Release()
}

type wakeStatus struct {
	PID      int          `json:"pid,omitempty"` // 0: no daemon runs
	Root     string       `json:"root"`
	Sessions []wakeTarget `json:"sessions"`
}

type wakeTarget struct {
	ID       string    `json:"session_id"`
	Alias    string    `json:"alias"`
	Pane     string    `json:"pane,omitempty"`
	LastRing wake.Ring `json:"last_ring,omitzero"`
}

// status tells whether the daemon runs, and what it or anybody else last did for each session that it may ring.
func (d *daemon) status(ctx context.Context, asJSON bool) error {
	pid, err := d.running()
	if err != nil {
		return err
	}
	all, err := d.b.Sessions(ctx)
	if err != nil {
		return err
	}
	st := wakeStatus{PID: pid, Root: d.b.Root(), Sessions: []wakeTarget{}}
	for _, s := range all {
		if s.Pane != "" || thread(s) != "" {
			st.Sessions = append(st.Sessions, wakeTarget{s.ID, s.Alias, s.Pane, s.LastRing})
		}
	}
	if asJSON {
		enc := json.NewEncoder(d.a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(st)
	}
	return st.print(d.a.stdout)
}

func (st wakeStatus) print(w io.Writer) error {
	state := "no wake daemon runs; c2c wake start starts one"
	if st.PID != 0 {
		state = fmt.Sprintf("wake daemon runs, process %d", st.PID)
	}
	_, err := fmt.Fprintf(w, "%s\nroot %s\n", state, st.Root)
	for _, t := range st.Sessions {
		way, last := t.Pane, "not rung yet"
		if way == "" {
			way = "Codex's app-server"
		}
		if r := t.LastRing; !r.At.IsZero() {
			last = r.String()
		}
		if _, err := fmt.Fprintf(w, "%s: %s; %s\n", t.Alias, way, last); err != nil {
			return err
		}
	}
	return err
}
