package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/ringer"
	"c2c/sessions"
	"c2c/wake"
	"c2c/wake/daemon"
)

// wakeDaemon runs the wake daemon of one root, or starts, stops and asks the one that runs.
type wakeDaemon struct {
	daemon.Daemon
	a   *app
	b   *broker.Broker // nil: there is no root
	gap time.Duration
}

func (d *wakeDaemon) run(ctx context.Context) error {
	return d.Run(ctx, func(ctx context.Context) {
		d.a.log.Info("wake daemon runs", "process", os.Getpid(), "root", d.b.Root(), "min-inject-gap", d.gap)
		r := d.a.ringer(ringer.ByDaemon())
		r.Gap = d.gap
		stop := r.Start(ctx)
		<-ctx.Done()
		stop()
		d.a.log.Info("wake daemon ends")
	})
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
	var places []string
	for _, p := range client.All() {
		places = append(places, p.ConfigEnv)
	}
	env := append(daemon.Places(os.Environ(), places), "C2C_MCP_BROKER_ROOT="+d.b.Root())
	return d.a.startDaemon(ctx, d.Daemon, "/", env, "wake", "run", "--min-inject-gap", d.gap.String())
}

// startDaemon starts a daemon and says so.
func (a *app) startDaemon(ctx context.Context, d daemon.Daemon, dir string, env []string, args ...string) error {
	pid, err := d.Start(ctx, dir, env, args...)
	if err == nil {
		fmt.Fprintf(a.stdout, "%s runs, process %d\n", d.What, pid)
	}
	return err
}

// stopDaemon ends a daemon and says so.
func (a *app) stopDaemon(ctx context.Context, d daemon.Daemon) error {
	ran, err := d.Stop(ctx)
	switch {
	case err != nil:
	case ran:
		fmt.Fprintf(a.stdout, "%s ended\n", d.What)
	default:
		fmt.Fprintf(a.stdout, "no %s runs\n", d.What)
	}
	return err
}

// errDown says that a daemon does not run, or does not answer. The answer has told it already.
var errDown = errors.New("no daemon")

// show prints the status of a daemon, for people or as JSON. The error is errDown unless works is true: then the exit status
// tells a script.
func (a *app) show(status interface{ Print(io.Writer) }, works, asJSON bool) error {
	if asJSON {
		if err := cli.JSON(a.stdout, status); err != nil {
			return err
		}
	} else {
		status.Print(a.stdout)
	}
	if !works {
		return errDown
	}
	return nil
}

type wakeStatus struct {
	PID      int          `json:"pid,omitempty"` // 0: no daemon runs
	Root     string       `json:"root"`
	Sessions []wakeTarget `json:"sessions"`
}

type wakeTarget struct {
	ID         string    `json:"session_id"`
	Alias      string    `json:"alias"`
	Pane       string    `json:"pane,omitempty"`
	Unattended bool      `json:"unattended,omitempty"`
	LastRing   wake.Ring `json:"last_ring,omitzero"`
}

// status tells whether the daemon runs, and what it or anybody else last did for each session that it may ring.
func (d *wakeDaemon) status(ctx context.Context, asJSON bool) error {
	pid, err := d.PID()
	if err != nil {
		return err
	}
	root, err := d.a.root()
	if err != nil {
		return err
	}
	var all []sessions.Session
	if d.b != nil {
		if all, err = d.b.Sessions(ctx); err != nil {
			return err
		}
	}
	st := wakeStatus{PID: pid, Root: root, Sessions: []wakeTarget{}}
	for _, s := range all {
		if ringer.DaemonMayRing(s) {
			st.Sessions = append(st.Sessions, wakeTarget{s.ID, s.Alias, s.Pane, s.Unattended, s.LastRing})
		}
	}
	return d.a.show(st, pid != 0, asJSON)
}

func (st wakeStatus) Print(w io.Writer) {
	state := "no wake daemon runs; c2c wake start starts one"
	if st.PID != 0 {
		state = fmt.Sprintf("wake daemon runs, process %d", st.PID)
	}
	fmt.Fprintf(w, "%s\nroot %s\n", state, st.Root)
	for _, t := range st.Sessions {
		way, last := t.Pane, "not rung yet"
		if way == "" {
			way = "its client's own socket"
		}
		if r := t.LastRing; !r.At.IsZero() {
			last = r.String()
		}
		fmt.Fprintf(w, "%s: %s; %s\n", t.Alias, way, last)
	}
}
