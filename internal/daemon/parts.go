// Package daemon keeps the one daemon of a user. Its work has parts, each with a name, which are
// switched on and off. The daemon runs while a part is on. In <state directory>/daemon are:
//
//	daemon.lock, daemon.log  see Process
//	parts.json, parts.lock   which parts are on; the daemon looks when the lock file is closed
//	running.json             what the running daemon does; one that was killed leaves it
//
// Other files of the package bound the goroutines of a server and keep them alive. Any number of
// processes may use a Daemon or a Part at once.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"c2c/internal/atomicfile"
	"c2c/internal/proc"
)

const (
	directory   = "daemon"
	partsFile   = "parts.json"
	partsLock   = "parts.lock"
	runningFile = "running.json"
)

// Switch is an entry of parts.json: a part that is on, or that a person has stopped. A daemon keeps
// the entries of parts that it does not know. An entry never gets more fields, because an older
// daemon would drop them: what a part wants to know is in How.
type Switch struct {
	Part    string `json:"part"`          // the name of the part; Whole stands for the daemon with all its parts
	How     string `json:"how,omitempty"` // the settings of the part, in its own form
	Run     string `json:"run,omitempty"` // another one for each start: the daemon ends a part with another run, and begins it anew
	Stopped bool   `json:"stopped,omitempty"`
}

// Whole stands for the daemon with all its parts in Switch.Part.
const Whole = "daemon"

// Switches is the content of parts.json.
type Switches []Switch

// Of returns the entry of a part; the zero Switch if it has none.
func (s Switches) Of(part string) Switch {
	if i := slices.IndexFunc(s, func(one Switch) bool { return one.Part == part }); i >= 0 {
		return s[i]
	}
	return Switch{}
}

// On returns the entries of the parts that are on.
func (s Switches) On() Switches {
	return slices.DeleteFunc(slices.Clone(s), func(one Switch) bool { return one.Stopped })
}

// Stopped reports whether a person has stopped the part, or the daemon.
func (s Switches) Stopped(part string) bool { return s.Of(part).Stopped || s.Of(Whole).Stopped }

// put replaces the entry of a part; an entry without a name removes it.
func (s Switches) put(part string, by Switch) Switches {
	s = slices.DeleteFunc(s, func(one Switch) bool { return one.Part == part })
	if by.Part != "" {
		s = append(s, by)
	}
	return s
}

// State is what the daemon does with a part.
type State string

const (
	// The daemon takes a part from Starting to Runs, and from both to Failed after an error or a
	// panic, and after a pause to Starting again. A part that is switched off is Ending, from
	// whatever state, until its work has returned.
	Starting State = "starting"
	Runs     State = "runs"
	Failed   State = "failed"
	Ending   State = "ending"

	On State = "on" // the part is on, but no daemon runs
)

// Running is the content of running.json.
type Running struct {
	PID       int               `json:"pid,omitempty"` // 0: no daemon runs
	Version   string            `json:"version"`
	Build     string            `json:"build,omitempty"`         // Go's build id of the program
	Namespace string            `json:"pid_namespace,omitempty"` // the processes that the daemon can see
	Started   time.Time         `json:"started_at,omitzero"`
	Parts     map[string]Active `json:"parts"`
}

// Active is a part in the running daemon.
type Active struct {
	State State     `json:"state"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
	Error string    `json:"error,omitempty"` // why it has failed
	// About is what the part says of itself while it runs.
	About json.RawMessage `json:"about,omitempty"`
}

// Daemon is the daemon of a user. Its Dir is nil if no part was ever on.
type Daemon struct {
	Process
	Env []string // variables of a daemon that is started, beside those of this process
}

// Open opens the daemon's files in a state directory. If create is true, it makes the directories.
func Open(state string, create bool) (Daemon, error) {
	dir, err := atomicfile.CreateIf(filepath.Join(state, directory), create)
	return Daemon{Process: Process{Dir: dir, Name: "daemon", What: "daemon", Verb: "daemon"}}, err
}

// Close closes the files.
func (d Daemon) Close() {
	if d.Dir != nil {
		d.Dir.Close()
	}
}

func (d Daemon) file() atomicfile.RecordsFile[Switch] {
	return atomicfile.RecordsFile[Switch]{Dir: d.Dir, Name: partsFile, Lock: partsLock, Now: time.Now, Log: slog.Default()}
}

// Switches reads which parts are on.
func (d Daemon) Switches() (Switches, error) {
	if d.Dir == nil {
		return nil, nil
	}
	return d.file().Read()
}

// change edits parts.json, and makes the running daemon look at it. A damaged file is set aside.
func (d Daemon) change(ctx context.Context, edit func(Switches) (Switches, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return d.file().Change(ctx, func(s []Switch) ([]Switch, error) { return edit(s) })
}

// Running returns what the running daemon does. It knows of no part if the daemon has just begun.
func (d Daemon) Running() (r Running, err error) {
	pid, err := d.PID()
	if err != nil || pid == 0 {
		return r, err
	}
	text, err := d.Dir.ReadIf(runningFile)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Running{PID: pid}, fmt.Errorf("read %s/%s: %w", d.Dir.Path(), runningFile, err)
	}
	if r.PID != pid { // one that was killed has left it
		r = Running{PID: pid}
	}
	return r, nil
}

// Away returns an error if the daemon was started in another PID namespace, such as a sandbox or a
// container: it does not see the processes of this one.
func (r Running) Away() error {
	if r.Namespace == "" || r.Namespace == Namespace() {
		return nil
	}
	return errors.New("the daemon was started in another sandbox or container, and sees only that: c2c daemon stop and c2c daemon start, here, move it here")
}

// Namespace names the PID namespace of this process; "" on a system without namespaces.
func Namespace() string { return proc.Namespace(0) }

// Ensure starts the daemon if a part is on and no daemon runs.
func (d Daemon) Ensure(ctx context.Context) error {
	s, err := d.Switches()
	if err != nil || s.Stopped(Whole) || len(s.On()) == 0 {
		return err
	}
	if runs, err := d.Runs(); err != nil || runs {
		return err
	}
	_, err = d.Process.Start(ctx, "/", SafeEnv(append(os.Environ(), d.Env...)), "daemon", "run")
	if runs, _ := d.Runs(); runs { // another process may have started it first
		return nil
	}
	return err
}

// Resume starts the daemon again after Halt, with all parts that are on.
func (d Daemon) Resume(ctx context.Context) error {
	err := d.change(ctx, func(s Switches) (Switches, error) { return s.put(Whole, Switch{}), nil })
	if err == nil {
		err = d.Ensure(ctx)
	}
	return err
}

// Halt ends the daemon. Until Resume, or until a part is started, nothing starts it again. If forget
// is true, it also switches all parts off.
func (d Daemon) Halt(ctx context.Context, forget bool) (ran bool, err error) {
	if d.Dir == nil {
		return false, nil
	}
	ran, rerr := d.Runs()
	err = d.change(ctx, func(s Switches) (Switches, error) {
		if forget {
			s = nil
		}
		return s.put(Whole, Switch{Part: Whole, Stopped: true}), nil
	})
	_, serr := d.Stop(ctx)
	return ran, errors.Join(rerr, err, serr)
}

// Remove removes the files of a daemon that was halted.
func (d Daemon) Remove() error { return os.RemoveAll(d.Dir.Path()) }

// Part is a part of the daemon, as commands see it.
type Part struct {
	Daemon
	ID   string // its name in parts.json: a word, which may have a path behind it
	Name string // its name for people
}

// Active returns what the running daemon does with the part, and the id of its process, which is 0
// unless the part runs.
func (p Part) Active() (a Active, pid int, err error) {
	r, err := p.Running()
	if a = r.Parts[p.ID]; a.State == Runs {
		pid = r.PID
	}
	return a, pid, err
}

// PID returns the id of the process in which the part runs, as Process.PID; 0 if it does not run.
func (p Part) PID() (pid int, err error) {
	_, pid, err = p.Active()
	return pid, err
}

// About reads into about what the part says of itself; nothing if it does not run.
func (p Part) About(about any) error {
	a, pid, err := p.Active()
	if err == nil && pid != 0 && a.About != nil {
		err = json.Unmarshal(a.About, about)
	}
	return err
}

// ErrStopped means that a person has stopped the part, or the daemon.
var ErrStopped = errors.New("it was stopped")

// Begin says how a part is switched on.
type Begin struct {
	How     string // Switch.How
	Anew    bool   // a part that is on begins anew; otherwise it goes on if How is the same and it has not failed
	Unasked bool   // no person has asked for it: ErrStopped if a person has stopped it
}

// On switches the part on, and returns its entry before and now.
func (p Part) On(ctx context.Context, b Begin) (was, now Switch, err error) {
	a, _, err := p.Active()
	if err != nil {
		return was, now, err
	}
	err = p.change(ctx, func(s Switches) (Switches, error) {
		if b.Unasked && s.Stopped(p.ID) {
			return s, ErrStopped
		}
		was = s.Of(p.ID)
		now = Switch{Part: p.ID, How: b.How, Run: was.Run}
		if now != was || b.Anew || a.State == Failed {
			now.Run = strconv.FormatInt(time.Now().UnixNano(), 36)
		}
		return s.put(Whole, Switch{}).put(p.ID, now), nil
	})
	return was, now, err
}

// Start switches the part on, unless it runs and b.Anew is false. It starts the daemon if necessary,
// and returns the process id when the part runs. A part that fails is switched back to what it was
// before. If ctx ends earlier, the part stays on, and the daemon goes on starting.
func (p Part) Start(ctx context.Context, b Begin) (pid int, err error) {
	if pid, err = p.PID(); err != nil || pid != 0 && !b.Anew {
		return pid, err
	}
	was, mine, err := p.On(ctx, b)
	if err != nil {
		return 0, err
	}
	failed := false
	err = p.await(ctx, startTime, p.Name, "start", func(ctx context.Context) (bool, error) {
		s, err := p.Switches()
		now := s.Of(p.ID) // perhaps of another start, which came later
		if err == nil && (now.Run == "" || s.Stopped(p.ID)) {
			err = fmt.Errorf("the %s was stopped meanwhile", p.Name)
		}
		if err != nil {
			return false, err
		}
		a := Active{}
		if err = p.Ensure(ctx); err == nil {
			a, pid, err = p.Active()
		}
		if err == nil && a.State == Failed && a.Run == mine.Run {
			err = fmt.Errorf("the %s did not start (%s): %s", p.Name, p.Log(), a.Error)
		}
		failed = err != nil && ctx.Err() == nil
		return pid != 0 && a.Run == now.Run, err
	})
	if failed && was.Run != mine.Run { // otherwise it was on, or another start has just switched it on
		err = errors.Join(err, p.change(ctx, func(s Switches) (Switches, error) {
			if s.Of(p.ID) == mine {
				s = s.put(p.ID, was)
			}
			return s, nil
		}))
	}
	if err != nil {
		pid = 0
	}
	return pid, err
}

// End switches the part off, and returns when it has ended, and the daemon, if that was its last
// part. If stopped is true, only a person starts the part again.
func (p Part) End(ctx context.Context, stopped bool) (ran bool, err error) {
	r, err := p.Running()
	if err != nil || p.Dir == nil {
		return false, err
	}
	_, ran = r.Parts[p.ID]
	err = p.change(context.WithoutCancel(ctx), func(s Switches) (Switches, error) {
		if stopped {
			return s.put(p.ID, Switch{Part: p.ID, Stopped: true}), nil
		}
		return s.put(p.ID, Switch{}), nil
	})
	if err != nil {
		return ran, err
	}
	return ran, p.await(ctx, stopTime, p.Name, "end", func(context.Context) (bool, error) {
		if up, err := p.Runs(); err != nil || !up {
			return true, err
		}
		r, err := p.Running()
		_, is := r.Parts[p.ID]
		return !is && len(r.Parts) > 0, err
	})
}
