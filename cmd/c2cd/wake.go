package main

import (
	"cmp"
	"context"
	"fmt"

	"c2c/cmd/cli"
	"c2c/sessions/callers"
	"c2c/wake/daemon"
	"c2c/wake/mux"
)

const attachHow = `run it inside the client, at a prompt that runs commands:
  ! c2c wake attach
or name the session and its pane:
  TMUX_PANE=%3 c2c wake attach --session-id amber`

// wake runs the verbs of the wake daemon.
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
		return fmt.Errorf("%w: --min-inject-gap %s: want more than nothing", errUsage, *gap)
	}
	d := &wakeDaemon{Daemon: daemon.Wake(nil), a: a.app, gap: *gap}
	if d.b, err = a.openDaemon(verbs[0]); err != nil {
		return err
	}
	if d.b != nil {
		defer d.b.Close()
		d.Dir = d.b.Dir()
	}
	switch verbs[0] {
	case "run":
		return d.run(ctx)
	case "start":
		return d.start(ctx)
	case "stop":
		return a.stopDaemon(ctx, d.Daemon)
	case "restart":
		if err := a.stopDaemon(ctx, d.Daemon); err != nil {
			return err
		}
		return d.start(ctx)
	case "status":
		return d.status(ctx, *asJSON)
	case "attach":
		pane, err := mux.Here(a.getenv)
		if err != nil {
			return cli.WithHint(err, attachHow)
		}
		return d.setPane(ctx, *sid, pane.String())
	case "detach":
		return d.setPane(ctx, *sid, "")
	}
	return nil // the table knows no other
}

// setPane stores into which pane c2c may type for a session, or that it may not.
func (d *wakeDaemon) setPane(ctx context.Context, name, pane string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s, err := callers.Resolve(ctx, d.b.Registry, callers.Caller{Explicit: name, Getenv: d.a.getenv})
	if err != nil {
		if pane != "" {
			return cli.WithHint(err, attachHow)
		}
		return fmt.Errorf("%w; name one with --session-id", err)
	}
	if pane != "" && !mux.Types(s.Client) {
		return fmt.Errorf("session %q is one of %s, whose prompt c2c does not know: nothing would be typed there", s.Alias, cmp.Or(s.Client, "an unknown client"))
	}
	if pane != "" && s.Process == 0 {
		return fmt.Errorf("session %q has no process that c2c knows of, so nothing would tell its pane from another", s.Alias)
	}
	if err := d.b.SetPane(ctx, s.ID, pane); err != nil {
		return err
	}
	if pane == "" {
		said := "is not typed to any more"
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
