package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// errNothing is the result of poll-inbox --check if no mail waits. c2c does not print this error,
// and exits with 3.
var errNothing = errors.New("nothing waits")

// lockWait is how long a command waits for another command's lock.
const lockWait = 10 * time.Second

// commands lists the verbs that c2c runs itself. Package cli has their arguments and help.
func commands() []command {
	return []command{
		{"send", patient, send},
		{"reply", patient, reply},
		{"ask", patient, ask},
		{"poll-inbox", patient, pollInbox},
		{"history", patient, history},
		{"status", 0, status},
		{"obligations", 0, obligations},
		{"stats", 0, stats},
		{"search", 0, search},
		{"list", 0, list},
		{"whoami", 0, whoami},
		{"register", 0, register},
		{"dnd", 0, dnd},
		{"rooms", 0, roomsVerb},
		{"notify", patient, notify},
		{"claim", 0, claim},
		{"handover", 0, takeOver},
		{"resume", 0, letGoOn},
		{"sweep", 0, sweep},
		{"prune", 0, prune},
		{"project", 0, projectVerb},
		{"project merge", alone, mergeRoots},
		{"allow", 0, allow},
		{"hook", alone, hook},
		{"completion", alone, completion},
		{"version", alone, version},
	}
}

// commandOf returns the command for a verb, which must be in commands.
func commandOf(name string) command {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		panic("cmd/c2c/commands.go has no function for the verb " + name)
	}
	return all[i]
}

// open opens the root of the caller. If it is missing, open makes it, unless existing is set.
func (a *app) open(existing bool) (*broker.Broker, error) {
	b, err := broker.OpenFor(callers.Caller{Getenv: a.getenv}, a.cwd, broker.Config{Log: a.log(), Existing: existing})
	return b, cli.NoRoot(err)
}

// open opens the root of the project that the caller has named, or else that of the caller.
func (c *call) open(existing bool) (*broker.Broker, error) {
	if c.project == "" {
		return c.app.open(existing)
	}
	if err := c.refuseAgent("acts in another project"); err != nil {
		return nil, err
	}
	p, err := cli.FindProject(c.getenv, c.cwd, c.project)
	if err != nil {
		return nil, err
	}
	return broker.Open(broker.ConfigOf(c.getenv, p.Root, c.log()))
}

// refuseAgent returns an error in the shell of an agent: it has its own project, and no other.
func (c *call) refuseAgent(does string) error {
	if !callers.IsAgent(c.getenv) {
		return nil
	}
	return cli.WithHint(fmt.Errorf("only a person %s, and this is the shell of an agent", does), "ask your user to run this command in a terminal of their own")
}

func (a *app) log() inbox.Log { return sessions.WarningLogger(cli.Warnings(a.stderr)) }

// caller describes on whose behalf a command acts. The argument explicit is a session that the
// person has named, or "".
func (a *app) caller(explicit string) callers.Caller {
	return callers.Caller{Explicit: explicit, Getenv: a.getenv, User: callers.UserHere(a.getenv, a.stdin)}
}

// acting returns the session for which the command acts. It sets Caller.Brief, so it does not find
// out whether the session's client lives.
func (c *call) acting(ctx context.Context) (sessions.Session, error) {
	caller := c.caller(c.session)
	caller.Brief = true
	return c.attachAs(ctx, caller)
}

// attach finds the caller's session. If there is none, it makes one for a person at a terminal, so
// that an answer can reach them, and for an agent whose hooks and server have not called c2c yet.
// If mail of another session must still be moved to this session, attach moves the mail: a person
// has no hooks and no server that would do that.
func (c *call) attach(ctx context.Context) (sessions.Session, error) {
	return c.attachAs(ctx, c.caller(c.session))
}

func (c *call) attachAs(ctx context.Context, caller callers.Caller) (sessions.Session, error) {
	s, err := callers.Resolve(ctx, c.b.Registry, caller)
	if err == nil && s.HasMailToMove() {
		return c.b.Attach(ctx, caller)
	}
	if unknown := new(sessions.UnknownAliasError); errors.As(err, &unknown) {
		return s, adviseRegister(caller.Explicit, unknown)
	}
	if !errors.Is(err, sessions.ErrNoSession) {
		return s, err
	}
	s, err = c.b.Attach(ctx, caller)
	if err != nil || s.State != sessions.Person || c.json || c.silent {
		return s, err
	}
	// Print the name only when the mailbox is made: c2c whoami shows it at any time.
	if s.Alias == caller.User.Name() {
		fmt.Fprintf(c.stderr, "c2c: as %s\n", mail.Visible(s.Alias, ""))
	} else {
		fmt.Fprintf(c.stderr, "c2c: you are %q here; c2c register gives you another name\n", s.Alias)
	}
	return s, nil
}

// adviseRegister adds to the error a hint how to register the unknown session. The argument name is
// the name that was typed, or "".
func adviseRegister(name string, err *sessions.UnknownAliasError) error {
	switch {
	case name == "":
		return cli.WithHint(err, "C2C_MCP_SESSION_ID has this name, but takes a session id; to make a session with this id, run (once): c2c register")
	case len(err.Closest) > 0: // the name is mistyped
		return err
	case sessions.CheckAlias(name) != nil:
		return err
	}
	return cli.WithHint(err, fmt.Sprintf("to make this session: c2c register --session-id %[1]s %[1]s; to list sessions: c2c list", name))
}

// findC2cd returns the path of c2cd, which is in the same directory as this program.
func findC2cd() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find c2cd: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Join(filepath.Dir(self), "c2cd"), nil
}

// runC2cd replaces this program by c2cd. It returns only if that fails.
func (a *app) runC2cd(args []string) error {
	path, err := findC2cd()
	if err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return fmt.Errorf("run %q: %w; c2c and c2cd must be in one directory", path, err)
}

// built is the answer of c2c version.
type built struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`             // the git commit; "" if c2c was not built in a clone
	Modified bool   `json:"modified,omitempty"` // the sources differed from the commit
	Go       string `json:"go"`
	System   string `json:"system"`
}

func version(c *call, _ *cli.Flags) action {
	return func(context.Context) error {
		v := built{Version: broker.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				switch s.Key {
				case "vcs.revision":
					v.Commit = s.Value
				case "vcs.modified":
					v.Modified = s.Value == "true"
				}
			}
		}
		return c.show(v, func() {
			commit := "no commit"
			if v.Commit != "" {
				commit = "commit " + v.Commit[:min(len(v.Commit), 12)]
			}
			if v.Modified {
				commit += " and changes"
			}
			c.printf("c2c %s (%s, %s, %s)\n", v.Version, commit, v.Go, v.System)
		})
	}
}
