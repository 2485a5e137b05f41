// Package wired runs c2c wire-daemon: it carries the mail of one session to an agent that it has started.
package wired

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/atomicfile"
	"c2c/ringer"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/daemon"
	"c2c/wake/watch"
	"c2c/wake/wire"
)

// Dir is where the files of these daemons are, below the root.
const Dir = "wire"

// Options are what a daemon works with. They are kept, so that restart need not be told them.
type Options struct {
	Agent   []string `json:"agent"`
	In      string   `json:"dir"`
	Approve bool     `json:"approve,omitempty"`
	PIDFile string   `json:"pid_file,omitempty"`
}

// Daemon carries the mail of one session. A command that starts, stops or asks it has one, too.
type Daemon struct {
	daemon.Daemon
	Options
	Alias  string
	Broker *broker.Broker // nil: there is no root
	Once   bool           // it ends when nothing waits
	Getenv func(string) string
	Logger *slog.Logger
}

// New is the daemon of an alias, whose files are in dir.
func New(b *broker.Broker, dir *atomicfile.Dir, alias string) *Daemon {
	return &Daemon{Daemon: daemon.Daemon{Dir: dir, Name: strings.ToLower(alias), // an alias is the same in any case
		What: "wire daemon of " + alias, Verb: "wire-daemon --alias " + alias}, Alias: alias, Broker: b}
}

// Open gives the directory with their files, nil if nothing is there, and nothing is to be made.
func Open(b *broker.Broker, create bool) (*atomicfile.Dir, error) {
	dir, err := b.Dir().Sub(Dir, create)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// RunAgent carries mail until ctx ends or somebody stops it. register gives the alias a session.
func (d *Daemon) RunAgent(ctx context.Context, register func(context.Context, callers.Caller, string) (sid string, err error)) error {
	if len(d.Agent) == 0 {
		d.Agent = client.Wire()
	}
	if err := d.Free(); err != nil {
		return err
	}
	if !d.Once { // a command that starts it in the background hears of it only now
		if err := d.bridge(func(wire.State) {}).Check(ctx); err != nil {
			return cli.WithHint(err, fmt.Sprintf("%q is to be an agent that speaks Wire; another one stands after --", strings.Join(d.Agent, " ")))
		}
	}
	// Before anybody is told that it runs: the alias may be somebody else's.
	sid, err := register(ctx, callers.Caller{Start: d.Alias, Client: callers.ClientWire, PID: os.Getpid()}, d.Alias)
	if err != nil {
		return err
	}
	var failed error
	d.ExtraPIDFile = d.PIDFile
	err = d.Run(ctx, func(ctx context.Context) { failed = d.work(ctx, sid) })
	return errors.Join(err, failed)
}

// bridge is the way to its agent. tell is told of each state, and env is added to the agent's environment.
func (d *Daemon) bridge(tell func(wire.State), env ...string) *wire.Bridge {
	env = slices.Concat(client.Clean(os.Environ()), env, []string{"C2C_MCP_BROKER_ROOT=" + d.Broker.Root()})
	return wire.New(wire.Config{Argv: d.Agent, Dir: d.In, Env: env, Approve: d.Approve, Version: broker.Version, OnState: tell})
}

// work is run with the daemon's lock.
func (d *Daemon) work(ctx context.Context, sid string) error {
	// Where our process cannot be seen, this lock shows that the session is alive.
	release, err := d.Broker.Locks.Serve(sid)
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	bridge := d.bridge(d.tell, "C2C_MCP_SESSION_ID="+sid)
	d.Logger.Info("wire daemon runs", "process", os.Getpid(), "session", sid, "root", d.Broker.Root())
	if d.Once {
		err = d.carryOnce(ctx, sid, bridge)
	} else {
		r := &ringer.Ringer{Scope: ringer.Agent(sid, bridge.Method()), Getenv: d.Getenv, Log: d.Logger,
			Root: func() (string, error) { return d.Broker.Root(), nil }}
		stop := r.Start(ctx)
		<-ctx.Done()
		stop()
	}
	bridge.Close(ctx)
	return err
}

// carryOnce gives the agent what waits, and waits for its turn.
func (d *Daemon) carryOnce(ctx context.Context, sid string, bridge *wire.Bridge) error {
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
		err = watch.HandOver(ctx, box, bridge.Method())
		if r.Outcome = wake.OutcomeOf(err); err != nil {
			r.Cause = err.Error()
		}
		if err := errors.Join(err, d.Broker.Rang(ctx, sid, r)); err != nil {
			return err
		}
	}
}
