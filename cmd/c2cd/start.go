package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/wake/pty"
)

// startTime bounds the registration of a session that is started.
const startTime = 10 * time.Second

// start runs a client as a session with a name of its own, the same mailbox each time.
func (a *app) start(ctx context.Context, args []string) (status int, err error) {
	fs := flag.NewFlagSet("start", flag.ContinueOnError)
	fs.SetOutput(a.stderr)
	alias := fs.String("alias", "", "the session's `name`; default: one is made up, or the client's hooks say")
	channel := fs.Bool("channel", false, "claude: load c2c as a development channel, which the client asks about")
	fs.Usage = func() {
		fmt.Fprint(a.stderr, "usage: c2c start [--alias name] [--channel] <client> [-- arguments of the client]\n\n"+
			"Runs a client as a c2c session, with the mailbox of that name each time.\n\n")
		fs.PrintDefaults()
		fmt.Fprint(a.stderr, "\nThe exit status is the client's.\n\nexample:\n  c2c start --alias amber claude -- --resume\n")
	}
	own, theirs := cut(args)
	names, err := words(fs, own)
	if err != nil {
		return 0, err
	}
	if len(names) != 1 {
		return 0, fmt.Errorf("%w: c2c start <client>, and its arguments behind --", errUsage)
	}
	client := names[0]
	if client == "codex" && *alias != "" {
		// Its daemon gives every thread the environment of the first terminal.
		return 0, fmt.Errorf("codex names its sessions itself: leave --alias out, and call register in the session")
	}
	path, err := exec.LookPath(client)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", client, err)
	}
	argv, env := append([]string{path}, theirs...), scrubbed(os.Environ())
	if *channel {
		if client != "claude" {
			return 0, fmt.Errorf("%w: --channel is for claude alone", errUsage)
		}
		argv = append(argv, channelFlags...)
		if a.getenv(channelVariable) == "" {
			env = append(env, channelVariable+"="+channelDoorbell)
		}
	}
	return a.launch(ctx, client, *alias, argv, env)
}

// channelFlags make Claude Code listen to our channel notifications.
var channelFlags = []string{"--dangerously-load-development-channels", "server:c2c"}

// cut parts the arguments at the first --.
func cut(args []string) (before, after []string) {
	for i, arg := range args {
		if arg == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

func (a *app) launch(ctx context.Context, client, alias string, argv, env []string) (status int, err error) {
	if alias != "" {
		env = append(env, "C2C_MCP_SESSION_ID="+alias)
	}
	if !pty.IsTerminal(os.Stdin) || !pty.IsTerminal(os.Stdout) {
		// Nobody to draw for: become the client, which then is this process.
		if err := a.enroll(ctx, client, alias, os.Getpid()); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("run %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
	}
	t, err := pty.Start(pty.Config{Argv: argv, Env: env, Dir: a.cwd, In: os.Stdin, Out: os.Stdout, Client: client})
	if err != nil {
		return 0, err
	}
	if err := a.enroll(ctx, client, alias, t.PID()); err != nil {
		t.Abandon()
		return 0, err
	}
	// What it has to say would be drawn over the client.
	ringer := &ringer{a: a, reach: terminalReach{a, t}, log: slog.New(slog.DiscardHandler), last: true}
	defer ringer.start(ctx)()
	return t.Run()
}

// enroll binds the session, if it is to have a name, to the client's process, unless somebody else lives
// under that name.
func (a *app) enroll(ctx context.Context, client, alias string, pid int) error {
	if alias == "" {
		return nil
	}
	root, _, err := broker.FindRoot(a.getenv, a.cwd)
	if err != nil {
		return err
	}
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		return err
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s, err := b.Resolve(ctx, broker.Caller{Explicit: alias})
	if err == nil && s.State == broker.Alive && s.PID != pid {
		return fmt.Errorf("session %q is alive already, in process %d; give this one another --alias", alias, s.PID)
	}
	if err != nil && !errors.Is(err, broker.ErrNoSession) {
		return err
	}
	_, err = b.Register(ctx, broker.Caller{Explicit: alias, Client: client, PID: pid}, alias)
	return err
}

// scrubbed takes out what an outer session has left in the environment: it would be taken for ours.
func scrubbed(env []string) (kept []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "C2C_MCP_SESSION_ID", "C2C_MCP_CLIENT_TYPE", "CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID",
			"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CODEX_THREAD_ID", "CODEX_SESSION_ID":
			continue
		}
		kept = append(kept, v)
	}
	return kept
}
