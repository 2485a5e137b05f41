package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/internal/daemon"
)

// background is the daemon of c2c wake, c2c serve or c2c wire-daemon, with the verbs that these
// three have in common.
type background interface {
	run(ctx context.Context) error
	start(ctx context.Context) error
	stop(ctx context.Context) error
	// status describes the daemon's state. up is false if the daemon does not run or does not
	// answer.
	status(ctx context.Context) (st printer, up bool, err error)
	// reuse is for a restart: it may take settings that the person has not typed from the running
	// daemon.
	reuse() error
}

type printer interface{ Print(io.Writer) }

// daemonVerb runs a verb that is common to all daemons.
func (a *app) daemonVerb(ctx context.Context, d background, verb string, asJSON bool) error {
	switch verb {
	case "run":
		return d.run(ctx)
	case "start":
		return d.start(ctx)
	case "stop":
		return d.stop(ctx)
	case "restart":
		if err := d.reuse(); err != nil {
			return err
		}
		if err := d.stop(ctx); err != nil {
			return err
		}
		return d.start(ctx)
	case "status":
		st, up, err := d.status(ctx)
		if err != nil {
			return err
		}
		return a.printStatus(st, up, asJSON)
	}
	return nil // package cli has no other verb for a daemon
}

// errDown means that a daemon does not run, or does not answer. c2cd does not print it, because the
// status shows it already.
var errDown = errors.New("no daemon")

// printStatus prints the status of a daemon. It returns errDown unless the daemon is up, so that a
// script can test the exit status.
func (a *app) printStatus(st printer, up, asJSON bool) error {
	if asJSON {
		if err := cli.JSON(a.stdout, st); err != nil {
			return err
		}
	} else {
		st.Print(a.stdout)
	}
	if !up {
		return errDown
	}
	return nil
}

// startDaemon starts a daemon and prints that it runs.
func (a *app) startDaemon(ctx context.Context, d daemon.Daemon, dir string, env []string, args ...string) error {
	pid, err := d.Start(ctx, dir, env, args...)
	if err == nil {
		fmt.Fprintf(a.stdout, "%s runs, process %d\n", d.What, pid)
	}
	return err
}

// stopDaemon stops a daemon and prints whether one ran.
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

// daemonEnv returns the environment for a daemon: the variables that name directories, and the
// variables named in more.
func daemonEnv(more ...string) []string {
	for _, p := range client.All() {
		more = append(more, p.ConfigEnv)
	}
	return daemon.SafeEnv(os.Environ(), more)
}

// createsRoot reports whether a daemon's verb may create the root. The other verbs query the
// daemon, or stop it.
func createsRoot(verb string) bool { return slices.Contains([]string{"run", "start", "restart"}, verb) }

// openDaemon opens the root for a daemon's verb. It returns nil if there is no root and the verb
// does not need one.
func (a *app) openDaemon(verb string) (*broker.Broker, error) {
	switch {
	case createsRoot(verb):
		return a.open(a.log)
	case verb == "attach", verb == "detach": // these need a session, and so a root
		return a.openThere()
	}
	return a.openIfThere()
}
