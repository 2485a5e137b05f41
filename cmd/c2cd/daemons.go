package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/internal/daemon"
)

// background is what c2c serve, wake, relay or wire-daemon starts and stops: a part of the daemon, or
// the process of an agent.
type background interface {
	run(ctx context.Context) error
	start(ctx context.Context) error
	stop(ctx context.Context) error
	// restart may take settings that the person has not typed from what runs.
	restart(ctx context.Context) error
}

// backgroundVerb runs a verb that is common to all of these. Package cli has no other verb for them.
func backgroundVerb(ctx context.Context, d background, verb string) error {
	switch verb {
	case "run":
		return d.run(ctx)
	case "stop":
		return d.stop(ctx)
	case "restart":
		return d.restart(ctx)
	}
	return d.start(ctx)
}

func (a *app) sayRuns(what, runs string, pid int, err error) error {
	if err == nil {
		fmt.Fprintf(a.stdout, "%s %s, process %d\n", what, runs, pid)
	}
	return err
}

// sayEnded prints whether something has ended, or did not run.
func (a *app) sayEnded(what, then string, ran bool, err error) error {
	switch {
	case err != nil:
	case ran:
		fmt.Fprintf(a.stdout, "%s ended%s\n", what, then)
	default:
		fmt.Fprintf(a.stdout, "no %s runs\n", what)
	}
	return err
}

// partVerbs switches a part of the daemon on and off.
type partVerbs struct {
	daemon.Part
	part
	a         *app
	root, how string
}

// verbsOf returns the verbs of a part. root is "" unless each root has one.
func (a *app) verbsOf(d daemon.Daemon, word, root string) *partVerbs {
	p, _ := find(word)
	return &partVerbs{Part: daemon.Part{Daemon: d, ID: strings.TrimSpace(word + " " + root), Name: p.name}, part: p, a: a, root: root}
}

func (p *partVerbs) start(ctx context.Context) error {
	pid, err := p.PID()
	if err != nil || pid != 0 {
		return p.a.sayRuns(p.Name, "runs already", pid, err)
	}
	return p.begin(ctx, false)
}

// restart begins the part anew. The other parts go on.
func (p *partVerbs) restart(ctx context.Context) error { return p.begin(ctx, true) }

func (p *partVerbs) begin(ctx context.Context, anew bool) error {
	r, err := p.Running()
	if err == nil {
		err = cmp.Or(p.needed(p.a.getenv, p.root), r.Away())
	}
	pid := 0
	if err == nil {
		pid, err = p.Start(ctx, daemon.Begin{How: p.how, Anew: anew})
	}
	return p.a.sayRuns(p.Name, "runs", pid, err)
}

func (p *partVerbs) stop(ctx context.Context) error {
	ran, err := p.End(ctx, p.mayStop)
	return p.a.sayEnded(p.Name, p.then, ran, err)
}

// run runs the daemon in this process, with the part on.
func (p *partVerbs) run(ctx context.Context) error {
	err := p.Free()
	if err == nil {
		_, _, err = p.On(ctx, daemon.Begin{How: p.how, Anew: true})
	}
	if err != nil {
		return err
	}
	err = p.a.work(ctx, p.Daemon)
	_, eerr := p.End(ctx, false)
	return errors.Join(err, eerr)
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
