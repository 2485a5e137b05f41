// This part is the daemon: its parts, and c2c daemon.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/relay"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/internal/format"
	"c2c/internal/proc"
	"c2c/project"
)

// part is one part of the daemon. If each root has one, the root is behind the word in its name.
type part struct {
	word, name string
	mayStop    bool   // after a person has stopped it, only a person starts it again
	then       string // what a person reads then
	// needed returns an error if what the part is for is not there (any more).
	needed func(getenv func(string) string, root string) error
	// does works until ctx ends, and calls report when it does its work. The text how has its settings.
	does func(ctx context.Context, a *app, how, root string, report func(any)) error
}

const (
	servePart = "serve"
	wakePart  = "wake"
)

// parts has all parts of the daemon.
func parts() []part {
	return []part{
		{servePart, "HTTP daemon", false, "", func(func(string) string, string) error { return nil }, runServe},
		{wakePart, "wake daemon", false, "", func(_ func(string) string, root string) error { return missing(root) }, runWake},
		{relay.Name, "relay", true, "; mail for other machines waits until c2c relay start",
			func(getenv func(string) string, _ string) error { return relay.NeedHost(getenv) },
			func(ctx context.Context, a *app, _, _ string, report func(any)) error {
				return relay.RunPart(ctx, a.getenv, a.log, report)
			}},
	}
}

// missing returns an error if there is no file at a path.
func missing(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// find returns a part by its name in the daemon, and its root. It returns the zero part for one that
// only another version of c2c has.
func find(name string) (p part, root string) {
	word, root, _ := strings.Cut(name, " ")
	for _, p := range parts() {
		if p.word == word {
			return p, root
		}
	}
	return part{}, ""
}

// openDaemon opens the files of the daemon.
func (a *app) openDaemon(create bool) (daemon.Daemon, error) {
	state, err := project.FindStateDir(a.getenv)
	if err != nil {
		return daemon.Daemon{}, err
	}
	return daemon.Open(state, create)
}

// work makes this process the daemon.
func (a *app) work(ctx context.Context, d daemon.Daemon) error {
	if err := os.Chdir("/"); err != nil { // the daemon runs for weeks; its working directory must not block a removal
		return err
	}
	return d.Work(ctx, daemon.Work{
		Log: a.log, Version: broker.Version, Build: proc.OwnBuildID(),
		Needed: func(name, _ string) bool {
			p, root := find(name)
			return p.does == nil || p.needed(a.getenv, root) == nil
		},
		Run: func(ctx context.Context, name, how string, report func(any)) error {
			p, root := find(name)
			if p.does == nil {
				return errors.New("this build of the daemon does not know it: c2c daemon restart runs the installed build")
			}
			err := p.does(ctx, a, how, root, report)
			if err == nil {
				return nil
			}
			if f := cli.FailureOf("", err); f.Hint != "" {
				err = errors.New(f.Message + "\nhint: " + f.Hint)
			}
			return err
		},
	})
}

func init() { verbs["daemon"] = (*call).daemonVerbs }

// daemonVerbs runs the verbs of c2c daemon.
func (a *call) daemonVerbs(ctx context.Context) error {
	if slices.Equal(a.args, []string{"want"}) { // only c2c itself calls this
		return a.wantDaemon(ctx)
	}
	unit, asJSON := a.Bool("unit"), a.Bool("json")
	verbs, err := a.words()
	if err != nil {
		return err
	}
	if *unit {
		verbs = append(verbs, "unit")
	}
	if len(verbs) != 1 {
		return fmt.Errorf("%w: one of start, stop, restart, status, log, run and --unit", errUsage)
	}
	if verbs[0] == "unit" {
		return daemon.PrintUnit(a.stdout, a.c2c, daemon.SafeEnv(os.Environ()))
	}
	d, err := a.openDaemon(slices.Contains([]string{"start", "restart", "stop", "run"}, verbs[0]))
	if err != nil {
		return err
	}
	defer d.Close()
	switch verbs[0] {
	case "log":
		return printLog(a.stdout, d)
	case "stop":
		ran, err := d.Halt(ctx, false)
		return a.sayEnded(d.What, "", ran, err)
	case "restart":
		_, err := d.Switches() // if it cannot be read, the new daemon would end
		if err == nil {
			_, err = d.Restart(ctx)
		}
		if err != nil {
			return err
		}
		return a.resume(ctx, d, "runs")
	case "start":
		return a.resume(ctx, d, "runs already")
	case "run":
		return a.work(ctx, d)
	}
	st, err := a.lookDaemon(d)
	return cli.PrintStatus(a.stdout, st, st.PID != 0, err, *asJSON)
}

// resume starts the daemon with all parts that are on. If it runs, it prints the words runs.
func (a *app) resume(ctx context.Context, d daemon.Daemon, runs string) error {
	pid, err := d.PID()
	if err == nil && pid == 0 {
		runs = "runs"
		if err = d.Resume(ctx); err == nil {
			pid, err = d.PID()
		}
	}
	if err == nil && pid == 0 {
		return cli.WithHint(errors.New("no part of the daemon is on, so it has nothing to do"), "c2c serve start, c2c wake start and c2c relay start switch a part on")
	}
	return a.sayRuns(d.What, runs, pid, err)
}

// wantDaemon runs "c2cd daemon want", by which a process of c2c has the daemon do what is needed.
func (a *app) wantDaemon(ctx context.Context) error {
	d, err := a.openDaemon(false)
	if err != nil {
		return err
	}
	defer d.Close()
	ctx, cancel := context.WithTimeout(ctx, broker.WantTime)
	defer cancel()
	said, err := relay.Want(ctx, a.getenv)
	if err == nil {
		err = d.Ensure(ctx)
	}
	if ctx.Err() != nil { // the daemon goes on starting
		err = nil
	}
	fmt.Fprint(a.stdout, said)
	return err
}

// daemonStatus is the daemon's state as other processes see it.
type daemonStatus struct {
	Stopped        bool   `json:"stopped,omitempty"`
	Other          bool   `json:"other_build,omitempty"` // it runs another build than the installed c2c
	Log            string `json:"log,omitempty"`
	daemon.Running        // if no daemon runs, it has the parts that are on
	away           error  // it was started in another sandbox
}

// lookDaemon finds the daemon's state. It compares the daemon's build with that of the installed
// program.
func (a *app) lookDaemon(d daemon.Daemon) (st daemonStatus, err error) {
	parts := map[string]daemon.Active{}
	if st.Parts = parts; d.Dir == nil {
		return st, nil
	}
	s, err := d.Switches()
	if err == nil {
		st.Running, err = d.Running()
	}
	for _, one := range s.On() {
		parts[one.Part] = daemon.Active{State: daemon.On}
	}
	maps.Copy(parts, st.Parts)
	build := proc.BuildID(a.c2c + "d")
	st.Stopped, st.Log, st.Parts, st.away = s.Stopped(daemon.Whole), d.Log(), parts, st.Away()
	st.Other = st.Build != "" && build != "" && st.Build != build
	return st, err
}

func (st daemonStatus) names() []string { return slices.Sorted(maps.Keys(st.Parts)) }

// Print writes the status for a person.
func (st daemonStatus) Print(w io.Writer) {
	switch {
	case st.PID != 0:
		fmt.Fprintf(w, "daemon runs, process %d, version %s\n", st.PID, st.Version)
	case len(st.Parts) == 0:
		fmt.Fprintln(w, "no daemon runs, because no part of it is on")
	case st.Stopped:
		fmt.Fprintln(w, "no daemon runs: it was stopped; c2c daemon start starts it")
	default:
		fmt.Fprintln(w, "no daemon runs; the next session starts it, and so does c2c daemon start")
	}
	if warn := st.warning(); warn != "" {
		fmt.Fprintln(w, warn)
	}
	for _, name := range st.names() {
		fmt.Fprintf(w, "%s: %s\n", name, says(st.Parts[name]))
	}
}

func says(a daemon.Active) string {
	if a.Error != "" {
		return string(a.State) + ", and begins again: " + a.Error
	}
	return string(a.State)
}

// warning says what is wrong with a daemon that runs.
func (st daemonStatus) warning() string {
	switch {
	case st.Other:
		return "it is another build of c2c than the one that is installed: c2c daemon restart"
	case st.away != nil:
		return st.away.Error()
	}
	return ""
}

// checkDaemon checks the daemon, for c2c doctor.
func (c checkup) checkDaemon() []format.Finding {
	f := format.Finding{Status: format.OK, Part: "daemon"}
	d, err := c.openDaemon(false)
	if err != nil {
		return []format.Finding{format.Failed(f.Part, "", err)}
	}
	defer d.Close()
	st, err := c.lookDaemon(d)
	f.Path = st.Log
	var failed []string
	for _, name := range st.names() {
		if a := st.Parts[name]; a.State == daemon.Failed {
			failed = append(failed, name+" has "+says(a))
		}
	}
	on := strings.Join(st.names(), ", ")
	switch {
	case err != nil:
		return []format.Finding{format.Failed(f.Part, f.Path, err)}
	case st.PID == 0 && on == "":
		f.Path, f.Detail = "", "does not run; only what c2c serve, relay or wake start needs it"
	case st.PID == 0 && st.Stopped:
		f.Status, f.Detail = format.Warning, "was stopped, and with it "+on+": c2c daemon start"
	case st.PID == 0:
		f.Status, f.Detail = format.Warning, "does not run, although "+on+" is on; the next session starts it, and so does c2c daemon start"
	case len(failed) > 0:
		f.Status, f.Detail = format.Problem, strings.Join(failed, "; ")
	case st.warning() != "":
		f.Status, f.Detail = format.Warning, fmt.Sprintf("process %d: %s", st.PID, st.warning())
	default:
		f.Detail = fmt.Sprintf("runs, process %d: %s", st.PID, on)
	}
	found := []format.Finding{f}
	if n := panics(st.Log); n > 0 {
		found = append(found, format.Finding{Status: format.Warning, Part: f.Part, Path: d.Log(),
			Detail: fmt.Sprintf("panics in its log: %d. They are mistakes of c2c: report their lines, those with level=ERROR, then empty the log", n)})
	}
	return found
}

// mostLog is how much of the log c2c daemon log prints, in bytes.
const mostLog = 64 << 10

// printLog prints the end of the daemon's log, in whole lines.
func printLog(w io.Writer, d daemon.Daemon) error {
	if d.Dir == nil {
		return nil
	}
	data, err := os.ReadFile(d.Log())
	if from := len(data) - mostLog; from > 0 {
		_, data, _ = bytes.Cut(data[from:], []byte("\n"))
	}
	if err = atomicfile.UnlessAbsent(err); err == nil {
		_, err = w.Write(data)
	}
	return err
}

// panics counts the panics in the daemon's log. Each is logged with its stack. Within a logged text
// the quotation mark would be escaped.
func panics(log string) int {
	data, _ := os.ReadFile(log) // without a log there was no panic
	return bytes.Count(data, []byte(` stack="goroutine `))
}

// endDaemon is for the end of an uninstall from all clients. It ends the daemon, and removes its
// files.
func (a *app) endDaemon(ctx context.Context, dry bool) error {
	d, err := a.openDaemon(false)
	if err != nil || d.Dir == nil {
		return err
	}
	defer d.Close()
	pid, err := d.PID()
	if err == nil && !dry {
		// Machines that are paired may connect, and other sessions that still run have mail for
		// them: neither starts it again.
		if _, err = d.Halt(ctx, true); err == nil && relay.NeedHost(a.getenv) != nil {
			err = d.Remove()
		}
	}
	if err == nil && pid != 0 {
		fmt.Fprintf(a.stdout, "the daemon ends (process %d)\n", pid)
	}
	unit := a.getenv("HOME") + "/.config/systemd/user/c2c.service"
	if _, missing := os.Stat(unit); missing == nil {
		fmt.Fprintf(a.stdout, "%s stays: systemctl --user disable --now c2c, and delete it\n", unit)
	}
	return err
}
