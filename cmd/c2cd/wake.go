package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/ringer"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/terminal"
)

// attachTime bounds the search for the session of an attached pane.
const attachTime = 10 * time.Second

const attachHow = `run it inside the client, at a prompt that runs commands:
  ! c2c wake attach
or name the session and its pane:
  TMUX_PANE=%3 c2c wake attach --session-id amber`

func init() { verbs["wake"] = (*call).wake }

// wake runs the verbs of c2c wake.
func (a *call) wake(ctx context.Context) error {
	gap, sid, asJSON := a.Duration("min-inject-gap"), a.Text("session-id"), a.Bool("json")
	verb, err := a.OneWord(a.args)
	if err != nil {
		return err
	}
	if *gap <= 0 {
		return fmt.Errorf("%w: --min-inject-gap %s: want more than 0s", errUsage, *gap)
	}
	b, err := a.openFor(verb)
	if err != nil {
		return err
	}
	root, err := a.root()
	if b != nil {
		defer b.Close()
		root = b.Root()
	} else if err != nil {
		return err
	}
	all, err := a.openDaemon(createsRoot(verb))
	if err != nil {
		return err
	}
	defer all.Close()
	d := &wakeDaemon{a.verbsOf(all, wakePart, root), b}
	d.how = gap.String()
	switch verb {
	case "attach":
		pane, err := terminal.PaneHere(a.getenv)
		if err != nil {
			return cli.WithHint(err, attachHow)
		}
		return d.setPane(ctx, *sid, pane.String())
	case "detach":
		return d.setPane(ctx, *sid, "")
	case "status":
		st, err := d.status(ctx)
		return cli.PrintStatus(a.stdout, st, st.PID != 0, err, *asJSON)
	}
	return backgroundVerb(ctx, d, verb)
}

// wakeDaemon has what the verbs of c2c wake need to handle the daemon of one root.
type wakeDaemon struct {
	*partVerbs
	Broker *broker.Broker // nil: there is no root
}

// runWake wakes the sessions of a root until ctx ends. The text how is the time between the first two
// rings for a message.
func runWake(ctx context.Context, a *app, how, root string, report func(any)) error {
	gap, err := time.ParseDuration(how)
	if err != nil {
		return err
	}
	dir, err := atomicfile.Open(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	// Others see by this lock that the sessions of the root are woken.
	lock, err := atomicfile.OpenLocked(dir, sessions.WakeLock)
	if err != nil {
		return err
	}
	defer lock.Release()
	if ok, err := lock.Try(); err != nil || !ok {
		return cmp.Or(err, errors.New("another daemon, with another state directory, wakes the sessions of this root already"))
	}
	w := &ringer.Ringer{Scope: ringer.ByDaemon(), Gap: gap, Getenv: a.getenv, Log: a.log, Root: func() (string, error) { return root, nil }}
	a.log.Info("wake daemon runs", "process", os.Getpid(), "root", root, "min-inject-gap", gap)
	stop := w.Start(ctx)
	report(nil)
	<-ctx.Done()
	stop()
	a.log.Info("wake daemon ends", "root", root)
	return nil
}

// status finds out whether the daemon of the root runs, and which sessions it may ring.
func (d *wakeDaemon) status(ctx context.Context) (st wakeStatus, err error) {
	st.Root, st.Sessions = d.root, []wakeTarget{}
	if st.PID, err = d.PID(); err != nil || d.Broker == nil {
		return st, err
	}
	all, err := d.Broker.Sessions(ctx)
	for _, s := range all {
		if ringer.DaemonMayRing(s) {
			st.Sessions = append(st.Sessions, wakeTarget{s.ID, s.Alias, s.Pane, s.Unattended, s.LastRing})
		}
	}
	return st, err
}

// setPane records the pane in which c2c may type for a session. With an empty pane, it records that
// c2c may not type for the session.
func (d *wakeDaemon) setPane(ctx context.Context, name, pane string) error {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	s, err := callers.Resolve(ctx, d.Broker.Registry, callers.Caller{Explicit: name, Getenv: d.a.getenv})
	if err != nil {
		if pane != "" {
			return cli.WithHint(err, attachHow)
		}
		return fmt.Errorf("%w; name one with --session-id", err)
	}
	if pane != "" && !terminal.KnowsPrompt(s.Client) {
		return fmt.Errorf("session %q runs in %s, whose prompt c2c does not know, so c2c would type nothing there", s.Alias, cmp.Or(s.Client, "an unknown client"))
	}
	if pane != "" && s.Process == 0 {
		return fmt.Errorf("session %q has no process that c2c knows of, so c2c cannot find out which pane belongs to it", s.Alias)
	}
	if err := d.Broker.SetPane(ctx, s.ID, pane); err != nil {
		return err
	}
	if pane == "" {
		said := "gets no typed rings any more"
		if s.Pane == "" {
			said = "was not attached"
		}
		fmt.Fprintf(d.a.stdout, "%s %s\n", s.Alias, said)
		return nil
	}
	fmt.Fprintf(d.a.stdout, "%s is woken through %s when it is idle and its prompt is empty\n", s.Alias, pane)
	if pid, err := d.PID(); err == nil && pid == 0 {
		fmt.Fprintln(d.a.stdout, "the daemon does not run: c2c wake start")
	}
	return nil
}

// wakeStatus is the daemon's state as other processes see it.
type wakeStatus struct {
	PID      int          `json:"pid,omitempty"` // 0: no daemon runs
	Root     string       `json:"root"`
	Sessions []wakeTarget `json:"sessions"`
}

// wakeTarget is a session that the daemon may ring.
type wakeTarget struct {
	ID         string    `json:"session_id"`
	Alias      string    `json:"alias"`
	Pane       string    `json:"pane,omitempty"`
	Unattended bool      `json:"unattended,omitempty"`
	LastRing   wake.Ring `json:"last_ring,omitzero"` // the last ring, by the daemon or by another ringer
}

// Print writes the status for a person.
func (st wakeStatus) Print(w io.Writer) {
	state := "no wake daemon runs; c2c wake start starts one"
	if st.PID != 0 {
		state = fmt.Sprintf("wake daemon runs, process %d", st.PID)
	}
	fmt.Fprintf(w, "%s\nroot %s\n", state, st.Root)
	for _, t := range st.Sessions {
		method, last := t.Pane, "not rung yet"
		if method == "" {
			method = "its client's own socket"
		}
		if r := t.LastRing; !r.At.IsZero() {
			last = r.String()
		}
		fmt.Fprintf(w, "%s: %s; %s\n", t.Alias, method, last)
	}
}
