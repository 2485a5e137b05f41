package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/atomicfile"
	"c2c/ringer"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/daemon"
	"c2c/wake/watch"
	"c2c/wake/wire"
)

// wireDir is where the files of these daemons are, below the root.
const wireDir = "wire"

// wireOptions are what a daemon works with. They are kept, so that restart need not be told them.
type wireOptions struct {
	Agent   []string `json:"agent"`
	In      string   `json:"dir"`
	Approve bool     `json:"approve,omitempty"`
	PIDFile string   `json:"pid_file,omitempty"`
}

// wireDaemon carries the mail of one session, or starts, stops and asks who does.
type wireDaemon struct {
	daemon.Daemon
	wireOptions
	alias string
	a     *app
	b     *broker.Broker // nil: there is no root
	once  bool
}

func (a *call) wireDaemon(ctx context.Context) error {
	alias, approve, pidFile, once, asJSON := a.Text("alias"), a.Bool("approve"), a.Text("pidfile"), a.Bool("once"), a.Bool("json")
	var agent []string
	if i := slices.Index(a.args, "--"); i >= 0 {
		a.args, agent = a.args[:i], a.args[i+1:]
	}
	verbs, err := a.words()
	if err != nil {
		return err
	}
	if len(verbs) != 1 {
		return fmt.Errorf("%w: one of start, stop, restart, status, run and list", errUsage)
	}
	if verbs[0] != "list" {
		if err := checkWireAlias(*alias); err != nil {
			return err
		}
	}
	b, err := a.openDaemon(verbs[0])
	if err != nil {
		return err
	}
	var dir *atomicfile.Dir
	if b != nil {
		defer b.Close()
		if dir, err = openWire(b, runsDaemon(verbs[0])); err != nil {
			return err
		}
	}
	if dir != nil {
		defer dir.Close()
	}
	if verbs[0] == "list" {
		return a.listWire(ctx, b, dir, *asJSON)
	}
	d := a.wireOf(b, dir, *alias)
	d.once = *once
	d.wireOptions = wireOptions{Agent: agent, In: a.cwd, Approve: *approve}
	if *pidFile != "" {
		d.PIDFile, err = filepath.Abs(*pidFile)
	}
	if err != nil {
		return err
	}
	switch verbs[0] {
	case "run":
		return d.run(ctx)
	case "start":
		return d.start(ctx)
	case "stop":
		return d.a.stopDaemon(ctx, d.Daemon)
	case "restart":
		return d.restart(ctx)
	case "status":
		return d.status(ctx, *asJSON)
	}
	return nil // the table knows no other
}

func checkWireAlias(alias string) error {
	if alias == "" {
		return fmt.Errorf("%w: of which session? --alias and its name", errUsage)
	}
	if err := sessions.CheckAlias(alias); err != nil {
		return fmt.Errorf("%w: --alias: %w", errUsage, err)
	}
	return nil
}

// openWire gives nil if nothing is there, and nothing is to be made.
func openWire(b *broker.Broker, create bool) (*atomicfile.Dir, error) {
	dir, err := b.Dir().Sub(wireDir, create)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

func (a *app) wireOf(b *broker.Broker, dir *atomicfile.Dir, alias string) *wireDaemon {
	return &wireDaemon{Daemon: daemon.Daemon{Dir: dir, Name: strings.ToLower(alias), // an alias is the same in any case
		What: "wire daemon of " + alias, Verb: "wire-daemon --alias " + alias}, alias: alias, a: a, b: b}
}

// run carries mail until ctx ends or somebody stops it.
func (d *wireDaemon) run(ctx context.Context) error {
	if len(d.Agent) == 0 {
		d.Agent = client.Wire()
	}
	if err := d.Free(); err != nil {
		return err
	}
	if !d.once { // who starts it in the background would not hear of it later
		if err := d.bridge(func(wire.State) {}).Check(ctx); err != nil {
			return cli.WithHint(err, fmt.Sprintf("%q is to be an agent that speaks Wire; another one stands after --", strings.Join(d.Agent, " ")))
		}
	}
	// Before anybody is told that it runs: the alias may be somebody else's.
	sid, err := d.a.register(ctx, callers.Caller{Start: d.alias, Client: callers.ClientWire, PID: os.Getpid()}, d.alias)
	if err != nil {
		return err
	}
	var failed error
	d.Also = d.PIDFile
	err = d.Run(ctx, func(ctx context.Context) { failed = d.work(ctx, sid) })
	return errors.Join(err, failed)
}

// bridge is the way to its agent. tell is told of each state, and env is added to the agent's environment.
func (d *wireDaemon) bridge(tell func(wire.State), env ...string) *wire.Bridge {
	env = slices.Concat(client.Clean(os.Environ()), env, []string{"C2C_MCP_BROKER_ROOT=" + d.b.Root()})
	return wire.New(wire.Config{Argv: d.Agent, Dir: d.In, Env: env, Approve: d.Approve, Version: broker.Version, Tell: tell})
}

// work is run with the daemon's lock.
func (d *wireDaemon) work(ctx context.Context, sid string) error {
	// Where our process cannot be seen, this lock shows that the session is alive.
	release, err := d.b.Serve(sid)
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	bridge := d.bridge(d.tell, "C2C_MCP_SESSION_ID="+sid)
	d.a.log.Info("wire daemon runs", "process", os.Getpid(), "session", sid, "root", d.b.Root())
	if d.once {
		err = d.carryOnce(ctx, sid, bridge)
	} else {
		stop := d.a.ringer(ringer.Agent(sid, bridge.Method())).Start(ctx)
		<-ctx.Done()
		stop()
	}
	bridge.Close(ctx)
	return err
}

// carryOnce gives the agent what waits, and waits for its turn.
func (d *wireDaemon) carryOnce(ctx context.Context, sid string, bridge *wire.Bridge) error {
	box, err := d.b.Mailbox(sid)
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
		if err := errors.Join(err, d.b.Rang(ctx, sid, r)); err != nil {
			return err
		}
	}
}

func (d *wireDaemon) start(ctx context.Context) error {
	if err := d.Free(); err != nil {
		return err
	}
	args := []string{"wire-daemon", "run", "--alias", d.alias, fmt.Sprintf("--approve=%t", d.Approve), "--pidfile", d.PIDFile, "--"}
	// All of the environment: the agent may need any of it.
	env := append(os.Environ(), "C2C_MCP_BROKER_ROOT="+d.b.Root())
	return d.a.startDaemon(ctx, d.Daemon, d.In, env, append(args, d.Agent...)...)
}

// restart uses what the daemon was started with, if nothing else was said.
func (d *wireDaemon) restart(ctx context.Context) error {
	if len(d.Agent) == 0 && !d.Approve && d.PIDFile == "" {
		kept, err := d.kept()
		if err != nil {
			return fmt.Errorf("%w; say after -- how its agent is started", err)
		}
		if kept.In != "" {
			d.wireOptions = kept.wireOptions
		}
	}
	if err := d.a.stopDaemon(ctx, d.Daemon); err != nil {
		return err
	}
	return d.start(ctx)
}
