// Package daemon keeps the one daemon of a user. Its work has parts, each with a name, which are
// switched on and off. The daemon runs while a part is on. In <state directory>/daemon are:
//
//	daemon.lock, .pid, .log  see Process
//	parts.json, parts.lock   which parts are on; the daemon looks when the lock file is closed
//	running.json             what the running daemon does; it means nothing while none runs
//
// Other files of the package bound the goroutines of a server and keep them alive. Any number of
// processes may use a Daemon or a Part at once.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/internal/atomicfile"
	"c2c/internal/proc"
)

const (
	directory   = "daemon"
	partsFile   = "parts.json"
	partsLock   = "parts.lock"
	runningFile = "running.json"

	startTime = 30 * time.Second // how long a part may take to start, and the lock of parts.json may be held
)

// State is what is wanted of a part (On, Off, or "" for neither), or what the daemon does with it.
type State string

const (
	On  State = "on"
	Off State = "off" // a person has stopped the part, so only a person starts it again

	// The daemon takes a part from Starting to Runs, and from both to Failed after an error or a
	// panic, and after a pause to Starting again. A part that is switched off is Ending, from
	// whatever state, until its work has returned.
	Starting State = "starting"
	Runs     State = "runs"
	Failed   State = "failed"
	Ending   State = "ending"
)

// Record is what is wanted of a part.
type Record struct {
	State State  `json:"state"`
	Run   string `json:"run,omitempty"` // another one for each start: the daemon ends a part with another run, and begins it anew
	// Env has variables of the shell that has switched the part on, without secrets: see SafeEnv.
	Env      []string          `json:"env,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Getenv returns a variable of the shell that has switched the part on.
func (r Record) Getenv(name string) string {
	for _, v := range r.Env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Switches is the content of parts.json.
type Switches struct {
	Stopped bool              `json:"stopped,omitempty"` // a person has stopped the daemon with all its parts
	Parts   map[string]Record `json:"parts"`
}

// On returns the names of the parts that are on.
func (s Switches) On() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
		if s.Parts[name].State == On {
			names = append(names, name)
		}
	}
	return names
}

// Running is the content of running.json.
type Running struct {
	Version   string            `json:"version"`
	Build     string            `json:"build,omitempty"`         // Go's build id of the program
	Namespace string            `json:"pid_namespace,omitempty"` // the processes that the daemon can see
	Started   time.Time         `json:"started_at"`
	Parts     map[string]Active `json:"parts"`
}

// Active is a part in the running daemon.
type Active struct {
	State State     `json:"state"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
	Error string    `json:"error,omitempty"` // why it has failed
}

// Daemon is the daemon of a user. Its Dir is nil if no part was ever on.
type Daemon struct{ Process }

// Open opens the daemon's files in a state directory. If create is true, it makes the directories.
func Open(state string, create bool) (Daemon, error) {
	d := Daemon{Process{Name: "daemon", What: "daemon", Verb: "daemon"}}
	dir, err := atomicfile.CreateIf(state, create)
	if dir != nil {
		d.Dir, err = dir.Sub(directory, create)
		dir.Close()
	}
	if errors.Is(err, fs.ErrNotExist) && !create {
		err = nil
	}
	return d, err
}

// Close closes the files.
func (d Daemon) Close() {
	if d.Dir != nil {
		d.Dir.Close()
	}
}

// Switches reads which parts are on.
func (d Daemon) Switches() (s Switches, err error) {
	var text []byte
	if d.Dir != nil {
		text, err = d.Dir.ReadIf(partsFile)
	}
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		err = fmt.Errorf("read %s/%s: %w; remove it, and start what you need again", d.Dir.Path(), partsFile, err)
	}
	if s.Parts == nil {
		s.Parts = map[string]Record{}
	}
	return s, err
}

// change edits parts.json, and makes the running daemon look at it.
func (d Daemon) change(ctx context.Context, edit func(*Switches)) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return atomicfile.WithLock(ctx, d.Dir, partsLock, func() error {
		s, err := d.Switches()
		if err != nil {
			return err
		}
		if edit(&s); len(s.Parts) == 0 && !s.Stopped {
			return errors.Join(atomicfile.UnlessAbsent(d.Dir.Remove(partsFile)), d.Dir.Sync())
		}
		text, err := json.MarshalIndent(s, "", " ")
		if err != nil {
			return err
		}
		return d.Dir.Replace(partsFile, append(text, '\n'))
	})
}

// Running returns what the running daemon does; up is false if no daemon runs.
func (d Daemon) Running() (r Running, up bool, err error) {
	if up, err = d.Runs(); err != nil || !up {
		return r, false, err
	}
	text, err := d.Dir.ReadIf(runningFile)
	if err == nil && text != nil { // otherwise the daemon is just beginning
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		err = fmt.Errorf("read %s/%s: %w", d.Dir.Path(), runningFile, err)
	}
	return r, true, err
}

// CheckHere returns an error if the daemon was started in another PID namespace, such as a sandbox or
// a container: it does not see the processes of this one.
func (d Daemon) CheckHere() error {
	r, up, err := d.Running()
	if err == nil && up && r.Namespace != "" && r.Namespace != Namespace() {
		err = errors.New("the daemon was started in another sandbox or container, and sees only that: c2c daemon restart, here, moves it here")
	}
	return err
}

// Namespace names the PID namespace of this process; "" on a system without namespaces.
func Namespace() string { return proc.Namespace(0) }

// Ensure starts the daemon if a part is on and no daemon runs. It gets the safe variables of env.
func (d Daemon) Ensure(ctx context.Context, env []string) error {
	s, err := d.Switches()
	if err != nil || s.Stopped || len(s.On()) == 0 {
		return err
	}
	if runs, err := d.Runs(); err != nil || runs {
		return err
	}
	_, err = d.Process.Start(ctx, "/", SafeEnv(env, nil), "daemon", "run")
	if runs, _ := d.Runs(); runs { // another process may have started it first
		return nil
	}
	return err
}

// Resume starts the daemon again after Halt, with all parts that are on.
func (d Daemon) Resume(ctx context.Context, env []string) error {
	if err := d.change(ctx, func(s *Switches) { s.Stopped = false }); err != nil {
		return err
	}
	return d.Ensure(ctx, env)
}

// Halt ends the daemon. Until Resume, or until a part is started, nothing starts it again.
func (d Daemon) Halt(ctx context.Context) (ran bool, err error) {
	if d.Dir == nil {
		return false, nil
	}
	if ran, err = d.Runs(); err == nil {
		err = d.change(ctx, func(s *Switches) { s.Stopped = true })
	}
	if err == nil {
		_, err = d.Stop(ctx)
	}
	return ran, err
}

// Remove ends the daemon and removes its files. If leaveStopped is true, it leaves a record that the
// daemon was stopped.
func (d Daemon) Remove(ctx context.Context, leaveStopped bool) (ran bool, err error) {
	if d.Dir == nil {
		return false, nil
	}
	if ran, err = d.Halt(ctx); err == nil {
		err = d.change(ctx, func(s *Switches) { *s = Switches{Stopped: leaveStopped} })
	}
	for _, name := range []string{runningFile, d.logFile(), d.pidFile()} {
		err = errors.Join(err, atomicfile.UnlessAbsent(d.Dir.Remove(name)))
	}
	for _, name := range []string{partsLock, d.lockFile()} {
		err = errors.Join(err, atomicfile.DiscardLock(d.Dir, name))
	}
	os.Remove(d.Dir.Path()) // it stays if it is not empty
	return ran, err
}

// Part is a part of the daemon, as commands see it.
type Part struct {
	Daemon
	ID   string // its name in parts.json: a word, which may have a path behind it
	Name string // its name for people
}

// Active returns what the running daemon does with the part, and the id of its process, which is 0
// unless the part runs.
func (p Part) Active() (a Active, pid int, err error) {
	r, up, err := p.Running()
	if a = r.Parts[p.ID]; err == nil && up && a.State == Runs {
		pid, err = p.Process.PID()
	}
	return a, pid, err
}

// PID returns the id of the process in which the part runs, as Process.PID; 0 if it does not run.
func (p Part) PID() (pid int, err error) {
	_, pid, err = p.Active()
	return pid, err
}

// Runs reports whether the part runs.
func (p Part) Runs() (bool, error) {
	pid, err := p.PID()
	return pid != 0, err
}

// Record returns what is wanted of the part.
func (p Part) Record() (Record, error) {
	s, err := p.Switches()
	return s.Parts[p.ID], err
}

// On switches the part on with the environment and settings of r, and returns its run. A part that is
// on with the same settings, and has not failed, goes on as it is, unless anew is true.
func (p Part) On(ctx context.Context, r Record, anew bool) (run string, err error) {
	a, _, err := p.Active()
	if err != nil {
		return "", err
	}
	r.State, r.Run = On, strconv.FormatInt(time.Now().UnixNano(), 36)
	err = p.change(ctx, func(s *Switches) {
		if was := s.Parts[p.ID]; was.State == On && maps.Equal(was.Settings, r.Settings) && !anew && a.State != Failed {
			r.Run = was.Run
		}
		s.Stopped, s.Parts[p.ID] = false, r
	})
	return r.Run, err
}

// Start switches the part on as On does, starts the daemon if necessary, and returns the process id
// when the part runs. A part that fails is switched back to what it was before. If ctx ends earlier,
// the part stays on, and the daemon goes on starting.
func (p Part) Start(ctx context.Context, r Record, anew bool) (pid int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the %s did not start within %s", p.Name, startTime))
	defer cancel()
	was, err := p.Record()
	run := ""
	if err == nil {
		run, err = p.On(ctx, r, anew)
	}
	for err == nil {
		err = p.Ensure(ctx, r.Env)
		var a Active
		if err == nil {
			a, pid, err = p.Active()
		}
		if err == nil && a.State == Failed && a.Run == run {
			err = fmt.Errorf("the %s did not start (%s): %s", p.Name, p.Log(), a.Error)
		}
		if err != nil && ctx.Err() == nil {
			return 0, errors.Join(err, p.back(ctx, was, run))
		}
		if pid != 0 && a.Run == run {
			return pid, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(lookTime):
		}
		var now Record
		if now, err = p.Record(); err == nil && now.State != On {
			err = fmt.Errorf("the %s was stopped meanwhile", p.Name)
		}
		run = now.Run // perhaps of another start, which came later
	}
	return 0, err
}

// back switches the part to what it was before it got this run.
func (p Part) back(ctx context.Context, was Record, run string) (err error) {
	switch {
	case was.Run == run: // it was on, or another start has just switched it on
	case was.State == On:
		err = p.change(ctx, func(s *Switches) {
			if s.Parts[p.ID].Run == run {
				s.Parts[p.ID] = was
			}
		})
	default:
		_, err = p.End(ctx, was.State)
	}
	return err
}

// End switches the part to the state to, which is Off or "", and returns when the part has ended, and
// the daemon, if that was its last part.
func (p Part) End(ctx context.Context, to State) (ran bool, err error) {
	r, _, err := p.Running()
	if err != nil || p.Dir == nil {
		return false, err
	}
	_, ran = r.Parts[p.ID]
	err = p.change(context.WithoutCancel(ctx), func(s *Switches) {
		if delete(s.Parts, p.ID); to != "" {
			s.Parts[p.ID] = Record{State: to}
		}
	})
	if err != nil {
		return ran, err
	}
	return ran, p.await(ctx, p.Name, func() (bool, error) {
		r, up, err := p.Running()
		_, is := r.Parts[p.ID]
		return !up || !is && len(r.Parts) > 0, err
	})
}
