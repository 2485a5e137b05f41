package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

func init() { verbs["wire-daemon"] = (*call).wireDaemon }

// wireDaemon runs the verbs of c2c wire-daemon.
func (a *call) wireDaemon(ctx context.Context) error {
	alias, approve, pidFile, once, asJSON := a.Text("alias"), a.Bool("approve"), a.Text("pidfile"), a.Bool("once"), a.Bool("json")
	var agent []string
	if i := slices.Index(a.args, "--"); i >= 0 {
		a.args, agent = a.args[:i], a.args[i+1:]
	}
	verb, err := a.OneWord(a.args)
	if err != nil {
		return err
	}
	if verb != "list" {
		if err := checkWireAlias(*alias); err != nil {
			return err
		}
	}
	b, err := a.openFor(verb)
	if err != nil {
		return err
	}
	var dir *atomicfile.Dir
	if b != nil {
		defer b.Close()
		if dir, err = openWire(b, createsRoot(verb)); err != nil {
			return err
		}
	}
	if dir != nil {
		defer dir.Close()
	}
	if verb == "list" {
		return a.listWire(ctx, b, dir, *asJSON)
	}
	d := newWireDaemon(b, dir, *alias)
	d.a, d.Once = a.app, *once
	d.wireOptions = wireOptions{Agent: agent, In: a.cwd, Approve: *approve}
	if *pidFile != "" {
		if d.PIDFile, err = filepath.Abs(*pidFile); err != nil {
			return err
		}
	}
	if verb == "status" {
		st, err := d.Look(ctx)
		return cli.PrintStatus(a.stdout, st, st.PID != 0, err, *asJSON)
	}
	return backgroundVerb(ctx, d, verb)
}

func (d *wireDaemon) start(ctx context.Context) error {
	if err := d.Free(); err != nil {
		return err
	}
	args := []string{"wire-daemon", "run", "--alias", d.Alias, fmt.Sprintf("--approve=%t", d.Approve), "--pidfile", d.PIDFile, "--"}
	// Pass the whole environment: the agent may need any variable.
	env := append(os.Environ(), "C2C_MCP_BROKER_ROOT="+d.Broker.Root())
	pid, err := d.Process.Start(ctx, d.In, env, append(args, d.Agent...)...)
	return d.a.sayRuns(d.What, "runs", pid, err)
}

func (d *wireDaemon) stop(ctx context.Context) error {
	ran, err := d.Process.Stop(ctx)
	return d.a.sayEnded(d.What, "", ran, err)
}

// restart starts the agent as before, unless the person has said how.
func (d *wireDaemon) restart(ctx context.Context) error {
	if len(d.Agent) == 0 && !d.Approve && d.PIDFile == "" {
		kept, err := d.Kept()
		if err != nil {
			return fmt.Errorf("%w; say after -- how its agent is started", err)
		}
		if kept.In != "" {
			d.wireOptions = kept.wireOptions
		}
	}
	if err := d.stop(ctx); err != nil {
		return err
	}
	return d.start(ctx)
}

func checkWireAlias(alias string) error {
	if alias == "" {
		return fmt.Errorf("%w: --alias is missing, the name of the session", errUsage)
	}
	if err := sessions.CheckAlias(alias); err != nil {
		return fmt.Errorf("%w: --alias: %w", errUsage, err)
	}
	return nil
}

func (a *app) listWire(ctx context.Context, b *broker.Broker, dir *atomicfile.Dir, asJSON bool) error {
	all, err := wireStatuses(ctx, b, dir)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(a.stdout, append([]wireStatus{}, all...))
	}
	for _, st := range all {
		st.Print(a.stdout)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "no wire daemon was started here; c2c wire-daemon start --alias <name> starts one")
	}
	return nil
}
