package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/install"
	"c2c/internal/proc"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

func init() { verbs["start"] = (*call).start }

// start runs a client as a session. With --alias, the session has this name, and the same mailbox
// each time.
func (a *call) start(ctx context.Context) error {
	alias, channel := a.Text("alias"), a.Bool("channel")
	var theirs []string
	dashes := slices.Index(a.args, "--")
	if dashes >= 0 {
		a.args, theirs = a.args[:dashes], a.args[dashes+1:]
	}
	names, err := a.words()
	if err != nil {
		return err
	}
	if len(names) != 1 {
		err := fmt.Errorf("%w: which client? give one, and its own arguments after --", errUsage)
		return cli.WithHint(err, "c2c start --alias amber "+cli.Here())
	}
	name := names[0]
	a.owner.Start = name // the client begins in this directory, whoever starts it
	profile, known := client.Find(name)
	if !known && dashes < 0 && !strings.ContainsRune(name, os.PathSeparator) {
		return cli.WithHint(fmt.Errorf("%w: no such client %q", errUsage, name), strings.TrimSpace(fmt.Sprintf(
			"%s c2c start knows %s\nto start another program: c2c start %s --", cli.DidYouMean(name, client.Names()), strings.Join(client.Names(), ", "), name)))
	}
	if *alias != "" {
		if err := sessions.CheckAlias(*alias); err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	path, err := a.programOf(name)
	if err != nil {
		return err
	}
	alone := a.setUpAlone(profile.Name, theirs)
	wakes, _ := wake.FindClient(name)
	if *alias != "" {
		if theirs, err = a.ownConversation(ctx, profile, wakes.Begin != nil, *alias, theirs); err != nil {
			return err
		}
	}
	argv, env := slices.Concat([]string{path}, alone.Args, theirs), with(client.Clean(os.Environ()), alone.Env)
	if *channel {
		if profile.Channel == "" {
			return fmt.Errorf("%w: %s has no channel", errUsage, name)
		}
		argv = append(argv, profile.ChannelArgs...)
		if a.getenv(client.ChannelEnv) == "" {
			env = append(env, client.ChannelEnv+"="+client.ChannelDoorbell)
		}
	}
	if wakes.Begin != nil && *alias != "" {
		// The client's daemon gives every session the environment of the first terminal, so the
		// environment cannot name this session.
		id, args, err := a.begin(ctx, wakes, wake.Start{Path: path, Args: theirs, Env: env, Dir: a.cwd, Alias: *alias}, alone.Lacks)
		if err != nil {
			return err
		}
		if alone.Lacks == "" {
			id = "" // c2c's server in the client rings the session
		}
		return exited(a.runClient(ctx, name, "", id, alone.Lacks, append(argv[:1], args...), env))
	}
	return exited(a.runClient(ctx, name, *alias, "", alone.Lacks, argv, env))
}

// exited returns the client's exit status as an error.
func exited(status int, err error) error {
	if err == nil && status != 0 {
		return cli.ExitStatus(status)
	}
	return err
}

// ownConversation returns the client's arguments. If they open a conversation without naming it
// (--continue), it names that of the session with this alias: the newest one of the project may be
// another session's. A new alias may be meant for any conversation. With begins, the client cannot
// open a conversation under an alias.
func (a *call) ownConversation(ctx context.Context, p client.Profile, begins bool, alias string, args []string) ([]string, error) {
	if _, word := p.GoesOn(args, "", a.getenv); word == "" {
		return args, nil
	}
	b, err := a.open(a.log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: alias})
	if errors.Is(err, sessions.ErrNoSession) {
		return args, nil
	} else if err != nil {
		return nil, err
	}
	own, word := p.GoesOn(args, s.ClientID(), a.getenv)
	switch {
	case own == nil || s.Client != p.Name:
		return nil, cli.WithHint(fmt.Errorf("%w: %s has no conversation that %s could go on with, and %s may open that of another session", errUsage, alias, p.Name, word),
			"without it: c2c start --alias "+alias+" "+p.Name)
	case begins:
		return nil, cli.WithHint(fmt.Errorf("%w: %s may open the conversation of another session", errUsage, word), "that of "+alias+", which keeps its name: "+p.Reopens(alias, s.ClientID(), a.getenv))
	}
	return own, nil
}

// with returns the environment env with more variables, in place of those of the same names.
func with(env, more []string) []string {
	return append(slices.DeleteFunc(env, func(there string) bool {
		name, _, _ := strings.Cut(there, "=")
		return slices.ContainsFunc(more, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}), more...)
}

// setUpAlone sets c2c up for one session of a client in which it is not installed. It says what
// such a session lacks.
func (a *app) setUpAlone(name string, theirs []string) (alone install.Alone) {
	if !slices.Contains(client.Names(), name) {
		return alone
	}
	o, err := a.options()
	if err == nil {
		if install.IsInstalled(name, o) {
			return alone
		}
		alone, err = install.SetUpAlone(name, o, theirs)
	}
	if err != nil {
		alone.Lacks = fmt.Sprintf("%v; so its model has no tools of c2c, and mail may not reach it", err)
	}
	if alone.Lacks != "" {
		fmt.Fprintf(a.stderr, "c2c: %s; %s\n", alone.Lacks, sessions.RemedyOfLacks(name))
	}
	return alone
}

// programOf finds the program of a client.
func (a *app) programOf(name string) (path string, err error) {
	if path, err = proc.LookPath(client.ProgramOf(name), a.getenv); err == nil {
		return path, nil
	}
	err = fmt.Errorf("%s is not installed or not on PATH; c2c start knows %s", client.ProgramOf(name), strings.Join(client.Names(), ", "))
	return "", cli.WithHint(err, "install it, or add its folder to PATH; c2c doctor tells which clients are found")
}
