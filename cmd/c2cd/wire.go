package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/broker/ringer"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/wake"
	"c2c/wake/daemon"
	"c2c/wake/watch"
	"c2c/wake/wire"
)

const wireHelp = `usage: c2c wire-daemon [options] <verb> [-- command of the agent]

Carries the mail of a session to an agent that speaks the Wire protocol: the
older client of Python, %q. The npm client of that name does not
speak it. The agent is started in this directory when there is mail. Mail waits
until its model has answered; what fails is tried again, later and later. It was
tested against the agent's documentation and its npm client, not with the agent.

  start, stop, restart   the daemon of the session --alias
  run                    the same, in front; with --once until the mail is read
  status                 what it and its agent do
  list                   all of this root
`

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
	b     *broker.Broker
	once  bool
}

func (a *app) wireDaemon(ctx context.Context, args []string) error {
	fs := a.verb("wire-daemon", fmt.Sprintf(wireHelp, strings.Join(client.Wire(), " ")), "wire-daemon start --alias amber")
	alias := fs.String("alias", "", "the session's `name`, the same mailbox each time")
	approve := fs.Bool("approve", false, "approve what the agent asks for; else it is rejected")
	pidFile := fs.String("pidfile", "", "start, run: write the process id to this `file`, too")
	once := fs.Bool("once", false, "run: give it what waits, and end")
	asJSON := fs.Bool("json", false, "status, list: print JSON")
	var agent []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, agent = args[:i], args[i+1:]
	}
	verbs, err := fs.read(args)
	if err != nil {
		return err
	}
	if len(verbs) != 1 || *alias == "" && verbs[0] != "list" {
		return fmt.Errorf("%w: c2c wire-daemon --alias <name> start | stop | restart | status | run, or list", errUsage)
	}
	b, err := a.open(a.log)
	if err != nil {
		return err
	}
	defer b.Close()
	dir, err := b.Dir().Sub(wireDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	if verbs[0] == "list" {
		return a.listWire(ctx, b, dir, *asJSON)
	}
	if err := broker.CheckAlias(*alias); err != nil {
		return err
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
	return fmt.Errorf("%w: c2c wire-daemon %s is not known", errUsage, verbs[0])
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
	if err := d.free(); err != nil {
		return err
	}
	// Before anybody is told that it runs: the alias may be somebody else's.
	sid, err := d.a.register(ctx, broker.Caller{Start: d.alias, Client: broker.ClientWire, PID: os.Getpid()}, d.alias)
	if err != nil {
		return err
	}
	var failed error
	d.Also = d.PIDFile
	err = d.Run(ctx, func(ctx context.Context) { failed = d.work(ctx, sid) })
	return errors.Join(err, failed)
}

// free fails when the daemon runs.
func (d *wireDaemon) free() error {
	pid, err := d.PID()
	if err == nil && pid != 0 {
		err = fmt.Errorf("the %s runs already, process %d; c2c %s stop ends it", d.What, pid, d.Verb)
	}
	return err
}

// work is run with the daemon's lock.
func (d *wireDaemon) work(ctx context.Context, sid string) error {
	// What the agent starts may be the session's process later; this lock shows that the session is alive.
	release, err := d.b.Serve(sid)
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	bridge := wire.New(wire.Config{Argv: d.Agent, Dir: d.In, Approve: d.Approve, Version: broker.Version, Tell: d.tell,
		Env: append(client.Clean(os.Environ()), "C2C_MCP_SESSION_ID="+sid, "C2C_MCP_BROKER_ROOT="+d.b.Root())})
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
	if err := d.free(); err != nil {
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

// wireKept is the file of a daemon: what it was started with, and what its agent does.
type wireKept struct {
	wireOptions
	State wire.State `json:"state,omitzero"`
}

func (d *wireDaemon) tell(s wire.State) {
	text, err := json.Marshal(wireKept{d.wireOptions, s})
	if err == nil {
		err = d.Dir.Replace(d.Name+wireSuffix, append(text, '\n'))
	}
	if err != nil {
		d.a.log.Warn("state is not kept", "err", err)
	}
	d.a.log.Info("agent", "state", s.Agent, "cause", s.Cause, "approval", s.Approval)
}

const wireSuffix = ".json"

func (d *wireDaemon) kept() (k wireKept, err error) {
	text, err := d.Dir.ReadIf(d.Name + wireSuffix)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		err = fmt.Errorf("read the state of the %s: %w", d.What, err)
	}
	return k, err
}

// wireStatus is what is known of one daemon.
type wireStatus struct {
	Alias string `json:"alias"`
	PID   int    `json:"pid,omitempty"` // 0: it does not run
	wireKept
	Waiting  int       `json:"waiting"` // messages
	LastRing wake.Ring `json:"last_ring,omitzero"`
}

func (d *wireDaemon) look(ctx context.Context) (st wireStatus, err error) {
	st.Alias = d.alias
	if st.PID, err = d.PID(); err != nil {
		return st, err
	}
	if st.wireKept, err = d.kept(); err != nil {
		st.State.Cause = err.Error() // a damaged file hides nobody else
	}
	if st.PID == 0 && st.State.Agent != wire.Failed {
		st.State.Agent = wire.Off // it may have been killed
	}
	s, err := d.b.Resolve(ctx, broker.Caller{Explicit: d.alias})
	if errors.Is(err, broker.ErrNoSession) {
		return st, nil
	}
	var box *inbox.Mailbox
	if err == nil {
		st.LastRing = s.LastRing
		box, err = d.b.Mailbox(s.ID)
	}
	if err != nil {
		return st, err
	}
	msgs, err := box.Peek(ctx)
	st.Waiting = len(msgs)
	return st, err
}

func (st wireStatus) print(w io.Writer) {
	state := "no wire daemon runs"
	if st.PID != 0 {
		state = fmt.Sprintf("wire daemon runs, process %d", st.PID)
	}
	fmt.Fprintf(w, "%s: %s\n", st.Alias, state)
	if len(st.Agent) > 0 {
		fmt.Fprintf(w, "  agent %q in %s\n", strings.Join(st.Agent, " "), st.In)
	}
	agent := st.State.Agent
	if st.State.Cause != "" {
		agent += ": " + st.State.Cause
	}
	fmt.Fprintf(w, "  %s\n", agent)
	if st.State.Approval != "" {
		fmt.Fprintf(w, "  %s\n", st.State.Approval)
	}
	if !st.LastRing.At.IsZero() {
		fmt.Fprintf(w, "  last mail: %s\n", st.LastRing)
	}
	fmt.Fprintf(w, "  %d waiting\n", st.Waiting)
}

func (d *wireDaemon) status(ctx context.Context, asJSON bool) error {
	st, err := d.look(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(d.a.stdout, st)
	}
	st.print(d.a.stdout)
	return nil
}

// listWire tells of all daemons of a root that ever ran.
func (a *app) listWire(ctx context.Context, b *broker.Broker, dir *atomicfile.Dir, asJSON bool) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	all := []wireStatus{}
	slices.Sort(names)
	for _, name := range names {
		alias, ok := strings.CutSuffix(name, wireSuffix)
		if !ok || atomicfile.IsTemp(name) {
			continue
		}
		st, err := a.wireOf(b, dir, alias).look(ctx)
		if err != nil {
			return err
		}
		all = append(all, st)
	}
	if asJSON {
		return cli.JSON(a.stdout, all)
	}
	for _, st := range all {
		st.print(a.stdout)
	}
	return nil
}
