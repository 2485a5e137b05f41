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
	"c2c/wake/terminal"
)

// background is what c2c serve, c2c wake or c2c wire-daemon starts and stops: a part of the daemon,
// or the process of an agent.
type background interface {
	run(ctx context.Context) error
	start(ctx context.Context) error
	stop(ctx context.Context) error
	// status describes its state. up is false if it does not run or does not answer.
	status(ctx context.Context) (st printer, up bool, err error)
	// again is for a restart: it ends what runs, and may take settings that the person has not typed
	// from there.
	again(ctx context.Context) error
}

type printer interface{ Print(io.Writer) }

// backgroundVerb runs a verb that is common to all of these.
func (a *app) backgroundVerb(ctx context.Context, d background, verb string, asJSON bool) error {
	switch verb {
	case "run":
		return d.run(ctx)
	case "start":
		return d.start(ctx)
	case "stop":
		return d.stop(ctx)
	case "restart":
		if err := d.again(ctx); err != nil {
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
	return nil // package cli has no other verb for them
}

// errDown means that something does not run, or does not answer. c2cd does not print it, because the
// status shows it already.
var errDown = errors.New("it does not run")

// printStatus prints a status. It returns errDown unless up is true, so that a script can test the
// exit status.
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

// startPart switches a part on, and prints that it runs.
func (a *app) startPart(ctx context.Context, p daemon.Part, r daemon.Record) error {
	pid, err := 0, p.CheckHere()
	if err == nil {
		pid, err = p.Start(ctx, r, false)
	}
	return a.sayRuns(p.Name, "runs", pid, err)
}

func (a *app) sayRuns(what, runs string, pid int, err error) error {
	if err == nil {
		fmt.Fprintf(a.stdout, "%s %s, process %d\n", what, runs, pid)
	}
	return err
}

// sayEnded prints whether something has ended, or did not run.
func (a *app) sayEnded(what string, ran bool, err error) error {
	switch {
	case err != nil:
	case ran:
		fmt.Fprintf(a.stdout, "%s ended\n", what)
	default:
		fmt.Fprintf(a.stdout, "no %s runs\n", what)
	}
	return err
}

// runPart runs the daemon in this process, with a part on that is switched back at the end.
func (a *app) runPart(ctx context.Context, p daemon.Part, r daemon.Record) error {
	if err := p.Free(); err != nil {
		return err
	}
	now, before, err := p.On(ctx, r, true)
	if err != nil {
		return err
	}
	return errors.Join(a.work(ctx, p.Daemon), p.Back(ctx, now, before))
}

// partEnv returns the environment for a part of the daemon: the variables that name directories, and
// the variables named in more.
func partEnv(more ...string) []string {
	for _, p := range client.All() {
		more = append(more, p.ConfigEnv)
	}
	return daemon.SafeEnv(os.Environ(), append(more, terminal.PaneEnv()...))
}

// createsRoot reports whether a verb may create the root. The other verbs query what runs, or stop
// it.
func createsRoot(verb string) bool { return slices.Contains([]string{"run", "start", "restart"}, verb) }

// openFor opens the root for a verb. It returns nil if there is no root and the verb does not need
// one.
func (a *app) openFor(verb string) (*broker.Broker, error) {
	switch {
	case createsRoot(verb):
		return a.open(a.log)
	case verb == "attach", verb == "detach": // these need a session, and so a root
		return a.openThere()
	}
	return a.openIfThere()
}
