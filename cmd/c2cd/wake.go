package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"c2c/cmd/cli"
	"c2c/cmd/daemons"
	"c2c/cmd/ringer"
	"c2c/sessions/callers"
	"c2c/wake/terminal"
)

// attachTime bounds the search for the session of an attached pane.
const attachTime = 10 * time.Second

const attachHow = `run it inside the client, at a prompt that runs commands:
  ! c2c wake attach
or name the session and its pane:
  TMUX_PANE=%3 c2c wake attach --session-id amber`

// wake runs the verbs of c2c wake.
func (a *call) wake(ctx context.Context) error {
	gap, sid, asJSON := a.Duration("min-inject-gap"), a.Text("session-id"), a.Bool("json")
	verbs, err := a.words()
	if err != nil {
		return err
	}
	if len(verbs) != 1 {
		return fmt.Errorf("%w: one of start, stop, restart, status, run, attach and detach", errUsage)
	}
	if *gap <= 0 {
		return fmt.Errorf("%w: --min-inject-gap %s: want more than 0s", errUsage, *gap)
	}
	b, err := a.openDaemon(verbs[0])
	if err != nil {
		return err
	}
	if b != nil {
		defer b.Close()
	}
	d := &wakeDaemon{daemons.NewWakeDaemon(b), a.app, *gap}
	switch verbs[0] {
	case "attach":
		pane, err := terminal.PaneHere(a.getenv)
		if err != nil {
			return cli.WithHint(err, attachHow)
		}
		return d.setPane(ctx, *sid, pane.String())
	case "detach":
		return d.setPane(ctx, *sid, "")
	}
	return a.daemonVerb(ctx, d, verbs[0], *asJSON)
}

// wakeDaemon has what the verbs of c2c wake need to handle the daemon of one root.
type wakeDaemon struct {
	*daemons.WakeDaemon
	a   *app
	gap time.Duration // the time between the first two rings for a message
}

func (d *wakeDaemon) run(ctx context.Context) error {
	r := d.a.ringer(ringer.ByDaemon())
	r.Gap = d.gap
	return d.Serve(ctx, r)
}

func (d *wakeDaemon) start(ctx context.Context) error {
	pid, err := d.PID()
	if err != nil {
		return err
	}
	if pid != 0 {
		fmt.Fprintf(d.a.stdout, "wake daemon runs already, process %d\n", pid)
		return nil
	}
	env := append(daemonEnv(), "C2C_MCP_BROKER_ROOT="+d.Broker.Root())
	return d.a.startDaemon(ctx, d.WakeDaemon.Daemon, "/", env, "wake", "run", "--min-inject-gap", d.gap.String())
}

func (d *wakeDaemon) stop(ctx context.Context) error { return d.a.stopDaemon(ctx, d.WakeDaemon.Daemon) }

func (d *wakeDaemon) reuse() error { return nil }

func (d *wakeDaemon) status(ctx context.Context) (printer, bool, error) {
	root, err := d.a.root()
	if err != nil {
		return nil, false, err
	}
	st, err := d.Look(ctx, root)
	return st, st.PID != 0, err
}

// setPane records the pane in which c2c may type for a session. With an empty pane, it records that c2c may not type for the session.
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
