// This part runs c2c wire-daemon: a daemon that starts an agent, and delivers the mail of one
// session to the agent.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/cmd/ringer"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/watch"
	"c2c/wake/wire"
)

// wireDir is the directory of the daemons' files, below the root.
const wireDir = "wire"

// wireOptions are the options of a wire daemon. The daemon writes them to its file, where c2c
// wire-daemon restart reads them.
type wireOptions struct {
	Agent   []string `json:"agent"` // the agent's command line
	In      string   `json:"dir"`   // the directory in which the agent runs
	Approve bool     `json:"approve,omitempty"`
	PIDFile string   `json:"pid_file,omitempty"`
}

// wireDaemon delivers the mail of one session, and has what the verbs of c2c wire-daemon need to
// handle it.
type wireDaemon struct {
	daemon.Process
	wireOptions
	Alias  string
	Broker *broker.Broker // nil: there is no root
	Once   bool           // end as soon as no mail waits
	a      *app
}

// newWireDaemon makes the daemon of an alias, with its files in dir.
func newWireDaemon(b *broker.Broker, dir *atomicfile.Dir, alias string) *wireDaemon {
	return &wireDaemon{Process: daemon.Process{Dir: dir, Name: strings.ToLower(alias), // the case of an alias does not matter
		What: "wire daemon of " + alias, Verb: "wire-daemon --alias " + alias}, Alias: alias, Broker: b}
}

// openWire opens the directory of the daemons' files. It returns nil if there is none and create is
// false.
func openWire(b *broker.Broker, create bool) (*atomicfile.Dir, error) {
	dir, err := b.Dir().Sub(wireDir, create)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// run delivers mail until ctx ends or a command stops the daemon.
func (d *wireDaemon) run(ctx context.Context) error {
	if len(d.Agent) == 0 {
		d.Agent = client.Wire()
	}
	if err := d.Free(); err != nil {
		return err
	}
	if !d.Once { // try the agent before the daemon is ready: until then, c2c wire-daemon start can print an error
		if err := d.bridge(func(wire.State) {}).Check(ctx); err != nil {
			return cli.WithHint(err, fmt.Sprintf("%q must be an agent that speaks Wire; name another agent after --", strings.Join(d.Agent, " ")))
		}
	}
	// Register before d.Run reports that the daemon runs: registering fails if another session has
	// the alias.
	sid, err := d.a.register(ctx, callers.Caller{Start: d.Alias, Client: callers.ClientWire, PID: os.Getpid()}, d.Alias)
	if err != nil {
		return err
	}
	d.ExtraPIDFile = d.PIDFile
	return d.Run(ctx, func(ctx context.Context) error { return d.work(ctx, sid) })
}

// bridge makes the bridge to the agent. The bridge calls the function tell at each change of the
// agent's state. The agent's environment also gets the variables env.
func (d *wireDaemon) bridge(tell func(wire.State), env ...string) *wire.Bridge {
	env = slices.Concat(client.Clean(os.Environ()), env, []string{"C2C_MCP_BROKER_ROOT=" + d.Broker.Root()})
	return wire.New(wire.Config{Argv: d.Agent, Dir: d.In, Env: env, Approve: d.Approve, Version: broker.Version, OnState: tell})
}

// work delivers mail. Its caller holds the daemon's lock.
func (d *wireDaemon) work(ctx context.Context, sid string) error {
	// Some processes cannot see this process. The lock shows them that the session is alive.
	release, err := d.Broker.Locks.Serve(sid)
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	bridge := d.bridge(d.tell, "C2C_MCP_SESSION_ID="+sid)
	d.a.log.Info("wire daemon runs", "process", os.Getpid(), "session", sid, "root", d.Broker.Root())
	if d.Once {
		err = d.carryOnce(ctx, sid, bridge)
	} else {
		r := &ringer.Ringer{Scope: ringer.Agent(sid, bridge.Method()), Getenv: d.a.getenv, Log: d.a.log,
			Root: func() (string, error) { return d.Broker.Root(), nil }}
		stop := r.Start(ctx)
		<-ctx.Done()
		stop()
	}
	bridge.Close(ctx)
	return err
}

// carryOnce delivers the waiting mail, and waits for the end of the agent's turn.
func (d *wireDaemon) carryOnce(ctx context.Context, sid string, bridge *wire.Bridge) error {
	box, err := d.Broker.Mailbox(sid)
	if err != nil {
		return err
	}
	for {
		msgs, err := box.Head(ctx, wake.MaxLook)
		if err != nil || len(msgs) == 0 {
			return err
		}
		r := wake.Ring{At: time.Now(), Method: wake.ByWire, Count: len(msgs)}.For(msgs[0])
		err = watch.Carry(ctx, box, bridge.Method())
		if r.Outcome = wake.OutcomeOf(err); err != nil {
			r.Cause = err.Error()
		}
		if err := errors.Join(err, owed.Rang(ctx, d.Broker.Registry, sid, msgs, r)); err != nil {
			return err
		}
	}
}
