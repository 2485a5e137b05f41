package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/broker/ringer"
	"c2c/cmd/cli"
	"c2c/install"
	"c2c/wake"
	"c2c/wake/mux"
	"c2c/wake/pty"
)

// startTime bounds the registration of a session that is started.
const startTime = 10 * time.Second

// start runs a client as a session with a name of its own, the same mailbox each time.
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
		err := fmt.Errorf("%w: which client? one, and its own arguments behind --", errUsage)
		return 0, cli.WithHint(err, "c2c start --alias amber "+client.All()[0].Name)
	}
	name := names[0]
	profile, known := client.Find(name)
	if !known && dashes < 0 && !strings.ContainsRune(name, os.PathSeparator) {
		return 0, cli.WithHint(fmt.Errorf("%w: %q is no client that c2c knows", errUsage, name), strings.TrimSpace(fmt.Sprintf(
			"%s c2c start knows %s\nanother program is started with: c2c start %s --", cli.DidYouMean(name, client.Names()), strings.Join(client.Names(), ", "), name)))
	}
	if *alias != "" {
		if err := broker.CheckAlias(*alias); err != nil {
			return 0, fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	if *full {
		if err := a.checkFull(name, *alias); err != nil {
			return 0, fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	if profile.SharedProcess && !profile.Plugin && *alias != "" {
		// Its daemon gives every session the environment of the first terminal.
		return 0, fmt.Errorf("%w: %s names its sessions itself: leave --alias out, and call register in the session", errUsage, name)
	}
	if *unattended {
		// A terminal may show one thread after another, and Codex tells no process which one.
		return 0, fmt.Errorf("%w: which session a terminal will show is not known when it starts: call c2c register --unattended in the session", errUsage)
	}
	path, err := client.LookPath(client.ProgramOf(name), a.getenv)
	if err != nil {
		return 0, fmt.Errorf("%s is not installed or not on PATH; c2c start knows %s", client.ProgramOf(name), strings.Join(client.Names(), ", "))
	}
	argv, env := append([]string{path}, theirs...), client.Clean(os.Environ())
	if *channel {
		if profile.Channel == "" {
			return 0, fmt.Errorf("%w: %s has no channel", errUsage, name)
		}
		argv = append(argv, profile.ChannelArgs...)
		if a.getenv(channelVariable) == "" {
			env = append(env, channelVariable+"="+channelDoorbell)
		}
	}
	return a.launch(ctx, name, *alias, argv, env, *full)
}

// checkFull says why mail itself is not typed into a client.
func (a *app) checkFull(name, alias string) error {
	profile, _ := client.Find(name)
	o, err := a.options()
	switch {
	case profile.SharedProcess || !mux.Types(name):
		return fmt.Errorf("mail cannot be typed into %s: leave --full-delivery out", name)
	case err == nil && install.HasServer(name, o):
		return fmt.Errorf("c2c is set up in %s and brings its mail: leave --full-delivery out", name)
	case alias == "":
		return errors.New("--full-delivery is for a client that c2c is not set up in: name its session with --alias")
	}
	return nil
}

// launch runs it. full has mail typed itself.
func (a *app) launch(ctx context.Context, name, alias string, argv, env []string, full bool) (status int, err error) {
	sid := ""
	if alias != "" {
		// With our own process, before the client runs: of two that start under one alias, one does.
		if sid, err = a.register(ctx, broker.Caller{Start: alias, Client: name, PID: os.Getpid()}, alias); err != nil {
			return 0, err
		}
		variable := "C2C_MCP_SESSION_ID"
		if p, _ := client.Find(name); p.Plugin {
			variable = client.StartEnv // the shells of its other sessions inherit it
		}
		env = append(env, variable+"="+sid)
	}
	if !pty.IsTerminal(os.Stdin) || !pty.IsTerminal(os.Stdout) {
		// Without a terminal there is nothing to draw: this process becomes the client.
		return 0, fmt.Errorf("run %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
	}
	t, err := pty.Start(pty.Config{Argv: argv, Env: env, Dir: a.cwd, In: os.Stdin, Out: os.Stdout, Client: name})
	if err != nil {
		return 0, err
	}
	if sid != "" {
		if _, err := a.register(ctx, broker.Caller{Explicit: sid, Client: name, PID: t.PID()}, ""); err != nil {
			t.Abandon()
			return 0, err
		}
	}
	// A log would be written over what the client draws.
	silent := *a
	silent.log = slog.New(slog.DiscardHandler)
	ctx = context.WithoutCancel(ctx) // signals go on to the client: what it survives, its ringer survives
	if t.Types() {                   // or each look would tell of a draft or a dialog, which has nothing to do with it
		var words wake.Carrier
		if full {
			words = t
		}
		defer silent.ringer(ringer.Terminal(t.PID(), t, t.Joins(), words)).Start(ctx)()
	} else {
		defer silent.ringer(ringer.Scope{}).StartKeeping(ctx)()
	}
	return t.Run()
}

// register binds the session to the client's process.
func (a *app) register(ctx context.Context, c broker.Caller, alias string) (sid string, err error) {
	b, err := a.open(a.log)
	if err != nil {
		return "", err
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s, err := b.Register(ctx, c, alias)
	if taken := new(broker.AliasTakenError); errors.As(err, &taken) {
		return "", fmt.Errorf("session %q is alive already, or may be: give this one another --alias; %q is free", taken.Alias, taken.Suggested)
	}
	return s.ID, err
}
