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

	"c2c/broker/moves"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/install"
	"c2c/process/child"
	"c2c/ringer"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/clients"
	"c2c/wake/mux"
	"c2c/wake/pty"
)

// startTime bounds the registration of a new session.
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
		return 0, cli.WithHint(fmt.Errorf("%w: no such client %q", errUsage, name), strings.TrimSpace(fmt.Sprintf(
			"%s c2c start knows %s\nanother program is started with: c2c start %s --", cli.DidYouMean(name, client.Names()), strings.Join(client.Names(), ", "), name)))
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
		// A terminal may show one thread after another, and Codex tells no process which one.
		return 0, fmt.Errorf("%w: which session a terminal will show is not known when it starts: call c2c register --unattended in the session", errUsage)
	}
	path, err := child.LookPath(client.ProgramOf(name), a.getenv)
	if err != nil {
		err := fmt.Errorf("%s is not installed or not on PATH; c2c start knows %s", client.ProgramOf(name), strings.Join(client.Names(), ", "))
		return 0, cli.WithHint(err, "install it, or add its folder to PATH; c2c doctor tells which clients are found")
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
	if wakes, _ := clients.Find(name); wakes.Begin != nil && *alias != "" {
		// The client's daemon gives every session the environment of the first terminal.
		args, err := a.begin(ctx, wakes, wake.Start{Path: path, Args: theirs, Env: env, Dir: a.cwd, Alias: *alias})
		if err != nil {
			return 0, err
		}
		return a.launch(ctx, name, "", append(argv[:1], args...), env, *full)
	}
	return a.launch(ctx, name, *alias, argv, env, *full)
}

// begin starts a session of a client and gives it the alias, before a window shows it.
func (a *app) begin(ctx context.Context, c wake.Client, s wake.Start) (args []string, err error) {
	b, err := a.open(a.log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	profile, _ := client.Find(c.Name)
	s.Config, _ = profile.Config(a.getenv)
	away := func(old sessions.Session) bool {
		return isAway(ctx, c, wake.RingContext{Config: s.Config, Getenv: a.getenv}, old)
	}
	left, err := sessions.CheckFree(ctx, b.Registry, s.Alias, c.Name, away) // check first: otherwise the new session would be useless
	if err != nil {
		return nil, isTaken(err)
	}
	id, args, err := c.Begin(ctx, s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	caller := callers.Caller{Client: c.Name, ClientID: id}
	if left == nil {
		_, err = b.Register(ctx, caller, s.Alias)
		return args, isTaken(err)
	}
	begun, err := b.Register(ctx, caller, "")
	if err == nil { // the old session's window was closed a moment ago
		_, err = moves.TakeOver(ctx, b.Registry, left.ID, begun.ID, true, false)
	}
	return args, err
}

// isAway asks the client, and reports whether no window shows the session.
func isAway(ctx context.Context, c wake.Client, p wake.RingContext, s sessions.Session) bool {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ways, err := c.Ways(p, wake.Session{SID: s.ID, Client: s.Client, ID: s.ClientID(), Unattended: s.Unattended})
	return err == nil && slices.ContainsFunc(ways.Methods, func(m wake.Method) bool {
		return m.Ready != nil && errors.Is(m.Ready(ctx), wake.ErrAway)
	})
}

// isTaken returns err, or, if another session has the alias, an error that tells what to do.
func isTaken(err error) error {
	if taken := new(sessions.AliasTakenError); errors.As(err, &taken) {
		return fmt.Errorf("session %q is alive already, or may be: give this one another --alias; %q is free", taken.Alias, taken.Suggested)
	}
	return err
}

// checkFull returns an error if c2c cannot type whole messages into this client.
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

// launch runs the client. With full, it types whole messages.
func (a *app) launch(ctx context.Context, name, alias string, argv, env []string, full bool) (status int, err error) {
	sid := ""
	if alias != "" {
		// Register this process before the client runs: if two processes start with one alias, only one succeeds.
		if sid, err = a.register(ctx, callers.Caller{Start: alias, Client: name, PID: os.Getpid()}, alias); err != nil {
			return 0, err
		}
		variable := "C2C_MCP_SESSION_ID"
		if p, _ := client.Find(name); p.Plugin {
			variable = client.StartEnv // the shells of the client's other sessions inherit it
		}
		env = append(env, variable+"="+sid)
	}
	if !pty.IsTerminal(os.Stdin) || !pty.IsTerminal(os.Stdout) {
		// Without a terminal, this process has nothing to type into: it becomes the client.
		return 0, fmt.Errorf("run %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
	}
	t, err := pty.Start(pty.Config{Argv: argv, Env: env, Dir: a.cwd, In: os.Stdin, Out: os.Stdout, Client: name})
	if err != nil {
		return 0, err
	}
	if sid != "" {
		if _, err := a.register(ctx, callers.Caller{Explicit: sid, Client: name, PID: t.PID()}, ""); err != nil {
			t.Abandon()
			return 0, err
		}
	}
	// A log would overwrite the client's screen.
	silent := *a
	silent.log = slog.New(slog.DiscardHandler)
	ctx = context.WithoutCancel(ctx) // signals go to the client: if it survives one, its ringer must survive, too
	if t.Types() {                   // otherwise each look would report an unrelated draft or dialog
		var words wake.Carrier
		if full {
			words = t
		}
		defer silent.ringer(ringer.Terminal(t.PID(), t, t.Joins(), words)).Start(ctx)()
	} else {
		defer silent.ringer(ringer.Scope{}).StartChecking(ctx)()
	}
	return t.Run()
}

// register binds the session to the client's process.
func (a *app) register(ctx context.Context, c callers.Caller, alias string) (sid string, err error) {
	b, err := a.open(a.log)
	if err != nil {
		return "", err
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s, err := b.Register(ctx, c, alias)
	return s.ID, isTaken(err)
}
