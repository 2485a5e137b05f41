// This part runs a client for c2c start: it registers the client's session, and rings it as long as
// the client runs.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"c2c/broker/moves"
	"c2c/client"
	"c2c/cmd/ringer"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/terminal"
)

// startTime bounds the registration of a new session.
const startTime = 10 * time.Second

// begin makes a client begin a session, and gives the session the alias; id is the client's id of
// the session. No window shows the session yet: to show it, the caller starts the client with the
// returned args.
func (a *app) begin(ctx context.Context, c wake.Client, s wake.Start, lacks string) (id string, args []string, err error) {
	b, err := a.open(a.log)
	if err != nil {
		return "", nil, err
	}
	defer b.Close()
	profile, _ := client.Find(c.Name)
	s.Config, _ = profile.Config(a.getenv)
	away := func(old sessions.Session) bool {
		return isAway(ctx, c, wake.RingContext{Config: s.Config, Getenv: a.getenv}, old)
	}
	left, err := sessions.CheckFree(ctx, b.Registry, s.Alias, c.Name, away) // check first: without the alias, a new session is useless
	if err != nil {
		return "", nil, isTaken(err)
	}
	if id, args, err = c.Begin(ctx, s); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	caller := callers.Caller{Client: c.Name, ClientID: id, Lacks: lacks}
	if left == nil {
		_, err = b.Register(ctx, caller, s.Alias)
		return id, args, isTaken(err)
	}
	begun, err := b.Register(ctx, caller, "")
	if err == nil { // the old session with this alias has lost its window, so the new one takes over its alias and its mail
		_, err = moves.TakeOver(ctx, b.Registry, left.ID, begun.ID, true, false)
	}
	return id, args, err
}

// isAway asks the client, and reports whether the session is away: no window shows it.
func isAway(ctx context.Context, c wake.Client, p wake.RingContext, s sessions.Session) bool {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ways, err := c.Ways(p, wake.Session{SID: s.ID, Client: s.Client, ID: s.ClientID(), Unattended: s.Unattended})
	return err == nil && slices.ContainsFunc(ways.Methods, func(m wake.Method) bool {
		return m.Ready != nil && errors.Is(m.Ready(ctx), wake.ErrAway)
	})
}

// isTaken is for an error of a registration. If another session has the alias, it returns an error
// that says what to do. It returns any other error unchanged.
func isTaken(err error) error {
	if taken := new(sessions.AliasTakenError); errors.As(err, &taken) && !taken.Person {
		return fmt.Errorf("session %q is alive already, or may be%s: choose another --alias; %q is free", taken.Alias, processWords(taken.Process), taken.Suggested)
	}
	return err
}

// processWords names the process of a session, so that a person can end it if it has lost its
// terminal.
func processWords(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// runClient runs a client until it ends, and returns the client's exit status. If alias is not "",
// it first registers a session with this alias. begun is the client's id of a session that begin
// has made and that no server of ours rings, or empty. lacks is as in Caller.Lacks.
func (a *app) runClient(ctx context.Context, name, alias, begun, lacks string, argv, env []string) (status int, err error) {
	sid := ""
	if alias != "" {
		// Register this process before the client runs: if two processes start with one alias, only
		// one succeeds.
		if sid, err = a.register(ctx, callers.Caller{Start: alias, Client: name, PID: os.Getpid(), Lacks: lacks}, alias); err != nil {
			return 0, err
		}
		variable := "C2C_MCP_SESSION_ID"
		if p, _ := client.Find(name); p.Plugin {
			// Not C2C_MCP_SESSION_ID: the shells of the client's other sessions would inherit it,
			// and would pass for this session.
			variable = client.StartEnv
		}
		env = append(env, variable+"="+sid)
	}
	if !terminal.IsTerminal(os.Stdin) || !terminal.IsTerminal(os.Stdout) {
		// Without a terminal, this process can type nowhere, so it becomes the client.
		return 0, fmt.Errorf("run %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	t, err := terminal.Start(terminal.Config{Argv: argv, Leader: self, Env: env, Dir: a.cwd, In: os.Stdin, Out: os.Stdout, Client: name})
	if err != nil {
		return 0, err
	}
	if sid != "" {
		if _, err := a.register(ctx, callers.Caller{Explicit: sid, Client: name, PID: t.PID(), Lacks: lacks}, ""); err != nil {
			t.Abandon()
			return 0, err
		}
	}
	silent := a.silent()
	ctx = context.WithoutCancel(ctx) // signals go to the client: if it survives one, its ringer must survive, too
	if begun != "" {
		defer silent.ringer(ringer.Begun(name, begun)).Start(ctx)()
	} else if t.Types() { // if c2c does not know the client's prompt, this ringer could never type, and would hold back rings
		defer silent.ringer(ringer.Terminal(t.PID(), t, t.Joins())).Start(ctx)()
	} else {
		defer silent.ringer(ringer.Scope{}).StartChecking(ctx)()
	}
	return t.Run()
}

// register registers the session of a client's process. Unless alias is "", the session gets this
// alias.
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
