package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/hooks"
)

// errNothing is the answer of --check: exit 3 and no words.
var errNothing = errors.New("nothing waits")

// lockWait is how long a command waits for another one that is writing.
const lockWait = 10 * time.Second

// commands lists the verbs in the order in which help shows them.
func commands() []command {
	return []command{
		{"send", "<alias> [body | -]", "send a message", "c2c send amber 'The build is green again.'", asJSON | patient, send},
		{"send-all", "[body | -]", "send a message to every other session", "c2c send-all 'main is frozen'", asJSON | patient, sendAll},
		{"poll-inbox", "", "take the waiting messages", "c2c poll-inbox --wait=5m", asJSON | ofSession | patient, pollInbox},
		{"peek-inbox", "", "show the waiting messages and leave them", "c2c peek-inbox --json", asJSON | ofSession, peekInbox},
		{"history", "", "show what was handed over, newest first", "c2c history --limit 5", asJSON | ofSession | patient, history},
		{"status", "<message-id>", "tell what became of a message", "c2c status 099a8057", asJSON, status},
		{"list", "", "list the sessions", "c2c list", asJSON, list},
		{"whoami", "", "tell which session this is", "c2c whoami", asJSON | ofSession, whoami},
		{"register", "[alias]", "give this session an alias", "c2c register amber", asJSON | ofSession, register},
		{"dnd", "[on | off]", "do not disturb: mail waits for the next turn and wakes nobody", "c2c dnd on", asJSON | ofSession, dnd},
		{"sweep", "", "turn the mail of long gone sessions into dead letters", "c2c sweep --grace 168h", asJSON, sweep},
		{"prune", "--older <age>", "remove old archives, and what sessions left that are gone", "c2c prune --older 90d --dry-run", asJSON, prune},
		{"dead-letter", "", "show the dead letters, oldest first", "c2c dead-letter --limit 5", asJSON, deadLetter},
		{"hook", "", "answer a client's hook event on stdin (exits 0; 2 to wake it)", "c2c hook --client " + hooks.Clients()[0] + " < event.json", alone, hook},
		{"completion", "bash | zsh | fish", "print a completion script", "source <(c2c completion bash)", alone, completion},
		{"version", "", "print the version", "c2c version", alone, version},
	}
}

// inC2cd are the commands that c2cd has.
var inC2cd = [][2]string{
	{"start", "run a client as a session with a name"},
	{"wake", "wake sessions from outside: a daemon, tmux, screen"},
	{"wire-daemon", "carry mail to an agent that speaks the Wire protocol"},
	{"inject", "write into the history of an ended session (experimental)"},
	{"mcp", "the MCP server that a client starts"},
	{"plugin", "the other end of a plugin that a client runs"},
	{"install", "set up a client; --dry-run shows the changes"},
	{"uninstall", "take the changes back"},
	{"doctor", "check the root and the installed clients"},
}

func (a *app) open() (*broker.Broker, error) {
	return broker.OpenHere(a.getenv, a.cwd, broker.Config{Log: broker.Tell(func(sentence string) {
		fmt.Fprintf(a.stderr, "c2c: %s\n", sentence)
	})})
}

// caller names the session that a command speaks for. A name typed wins.
func (a *app) caller(explicit string) broker.Caller {
	return broker.Caller{Explicit: explicit, Getenv: a.getenv, User: broker.UserHere(a.getenv, a.stdin)}
}

// attach finds the caller's session. Without one it makes one: for a person at a terminal, so that an answer
// can reach them, or for an agent whose hooks and server have not called yet. Mail that is to be moved to the
// session is moved now, because a person has no hooks or server that would do it.
func (c *call) attach(ctx context.Context, explicit string) (broker.Session, error) {
	caller := c.caller(explicit)
	s, err := c.b.Resolve(ctx, caller)
	if err == nil && s.HasMailToMove() {
		return c.b.Attach(ctx, caller)
	}
	if explicit != "" || !errors.Is(err, broker.ErrNoSession) {
		return s, err
	}
	s, err = c.b.Attach(ctx, caller)
	if err == nil && s.State == broker.Person && s.Alias != caller.User.Login {
		fmt.Fprintf(c.stderr, "c2c: you are %q here; c2c register gives you another name\n", s.Alias)
	}
	return s, err
}

// runC2cd replaces this program by the c2cd beside it.
func (a *app) runC2cd(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find c2cd: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path := filepath.Join(filepath.Dir(self), "c2cd")
	err = syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return fmt.Errorf("run %q: %w; c2c and c2cd belong into one directory", path, err)
}

func version(c *call, _ *flag.FlagSet) action {
	return func(context.Context) error {
		c.printf("c2c %s\n", broker.Version)
		return nil
	}
}
