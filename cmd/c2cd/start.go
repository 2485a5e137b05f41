package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/install"
	"c2c/internal/proc"
	"c2c/sessions"
	"c2c/wake"
	"c2c/wake/terminal"
)

// start runs a client as a session. With --alias, the session has this name, and the same mailbox each time.
func (a *call) start(ctx context.Context) (status int, err error) {
	alias, channel, full, unattended := a.Text("alias"), a.Bool("channel"), a.Bool("full-delivery"), a.Bool("unattended")
	var theirs []string
	dashes := slices.Index(a.args, "--")
	if dashes >= 0 {
		a.args, theirs = a.args[:dashes], a.args[dashes+1:]
	}
	names, err := a.words()
	if err != nil {
		return 0, err
	}
	if len(names) != 1 {
		err := fmt.Errorf("%w: which client? give one, and its own arguments after --", errUsage)
		return 0, cli.WithHint(err, "c2c start --alias amber "+cli.Here())
	}
	name := names[0]
	a.owner.Start = name // the client begins in this directory, whoever starts it
	profile, known := client.Find(name)
	if !known && dashes < 0 && !strings.ContainsRune(name, os.PathSeparator) {
		return 0, cli.WithHint(fmt.Errorf("%w: no such client %q", errUsage, name), strings.TrimSpace(fmt.Sprintf(
			"%s c2c start knows %s\nto start another program: c2c start %s --", cli.DidYouMean(name, client.Names()), strings.Join(client.Names(), ", "), name)))
	}
	if *alias != "" {
		if err := sessions.CheckAlias(*alias); err != nil {
			return 0, fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	if *full {
		if err := a.checkFull(name, *alias); err != nil {
			return 0, fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	if *unattended {
		// A terminal may show several threads, one after another, and Codex tells no process which thread it shows.
		return 0, fmt.Errorf("%w: which session a terminal will show is not known when it starts: call c2c register --unattended in the session", errUsage)
	}
	path, err := a.programOf(name)
	if err != nil {
		return 0, err
	}
	if !*full && a.lacksC2C(profile.Name) {
		fmt.Fprintf(a.stderr, "c2c: c2c is not set up in %s, so its model has no tools of c2c, and mail may not reach it: run c2c install %[1]s, then start it again\n", profile.Name)
	}
	argv, env := append([]string{path}, theirs...), client.Clean(os.Environ())
	if *channel {
		if profile.Channel == "" {
			return 0, fmt.Errorf("%w: %s has no channel", errUsage, name)
		}
		argv = append(argv, profile.ChannelArgs...)
		if a.getenv(client.ChannelEnv) == "" {
			env = append(env, client.ChannelEnv+"="+client.ChannelDoorbell)
		}
	}
	l := a.launcher()
	if wakes, _ := wake.FindClient(name); wakes.Begin != nil && *alias != "" {
		// The client's daemon gives every session the environment of the first terminal, so the environment cannot name this session.
		args, err := l.Begin(ctx, wakes, wake.Start{Path: path, Args: theirs, Env: env, Dir: a.cwd, Alias: *alias})
		if err != nil {
			return 0, err
		}
		return l.Run(ctx, name, "", append(argv[:1], args...), env, *full)
	}
	return l.Run(ctx, name, *alias, argv, env, *full)
}

// lacksC2C reports whether c2c could be set up in a client, and is not.
func (a *app) lacksC2C(name string) bool {
	o, err := a.options()
	if err != nil {
		return false
	}
	found, err := install.Inspect(name, o)
	return err == nil && found[0].Part == install.PartNone
}

// programOf finds the program of a client.
func (a *app) programOf(name string) (path string, err error) {
	if path, err = proc.LookPath(client.ProgramOf(name), a.getenv); err == nil {
		return path, nil
	}
	err = fmt.Errorf("%s is not installed or not on PATH; c2c start knows %s", client.ProgramOf(name), strings.Join(client.Names(), ", "))
	return "", cli.WithHint(err, "install it, or add its folder to PATH; c2c doctor tells which clients are found")
}

func (a *app) launcher() Launcher {
	return Launcher{Getenv: a.getenv, Cwd: a.cwd, Root: a.root, Open: func() (*broker.Broker, error) { return a.open(a.log) }}
}

// checkFull returns an error if c2c cannot, or need not, type whole messages into this client.
func (a *app) checkFull(name, alias string) error {
	profile, _ := client.Find(name)
	o, err := a.options()
	switch {
	case profile.SharedProcess || !terminal.KnowsPrompt(name):
		return fmt.Errorf("mail cannot be typed into %s: leave --full-delivery out", name)
	case err == nil && install.HasServer(name, o):
		return fmt.Errorf("c2c is set up in %s and brings its mail: leave --full-delivery out", name)
	case alias == "":
		return errors.New("--full-delivery is for a client in which c2c is not set up: name its session with --alias")
	}
	return nil
}
