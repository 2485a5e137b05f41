// Command c2c carries mail between coding agents.
//
// It is kept small on purpose: a hook runs it on every tool call and scripts
// call send, so it must start like an empty program. Whatever needs a large
// library is in c2cd, which the verbs mcp, plugin, start, wake, wire-daemon, inject, install, uninstall and doctor run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/filelock"
)

// Exit codes, the same for every verb.
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitNothing // with --check
	exitNoAlias
	exitFull
	exitLocked
)

// app is what the program reads, writes and knows of its surroundings. A test makes its own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	cwd            string
	lockWait       time.Duration // how long to wait for another process that is writing
}

// command is one verb. setup registers its flags, and returns what it does.
type command struct {
	name    string
	args    string
	short   string
	example string
	takes   traits
	setup   func(c *call, fs *flag.FlagSet) action
}

type action = func(ctx context.Context) error

// traits are what many commands have in common.
type traits int

const (
	asJSON    traits = 1 << iota // --json
	ofSession                    // --session-id
	patient                      // may wait for more than a lock
	alone                        // no broker, or one that it opens itself
)

// call is one run of a command.
type call struct {
	*app
	b       *broker.Broker
	words   []string // what is left after the flags
	json    bool
	session string // the one named, or ""
}

var errUsage = errors.New("usage")

func main() {
	cwd, _ := os.Getwd() // without one, only an absolute root works
	a := &app{os.Stdin, os.Stdout, os.Stderr, os.Getenv, cwd, lockWait}
	// Signals are left alone: dying at any point loses nothing, and a handler
	// would cost every hook its start.
	os.Exit(a.main(context.Background(), os.Args[1:]))
}

func (a *app) main(ctx context.Context, args []string) int {
	a.stdout, a.stderr = &answer{to: a.stdout}, &inbox.VisibleWriter{W: a.stderr}
	if len(args) == 0 {
		a.help(a.stderr)
		return exitUsage
	}
	name := args[0]
	switch name {
	case "help", "-h", "--help":
		a.help(a.stdout)
		return a.report(name, a.flush())
	case "--version":
		name = "version"
	}
	for _, c := range inC2cd {
		if c[0] == name {
			return a.report(name, a.runC2cd(args))
		}
	}
	for _, c := range commands() {
		if c.name == name {
			err := errors.Join(a.run(ctx, c, args[1:]), a.flush())
			if errors.Is(err, errTold) {
				return exitTold
			}
			code := a.report(name, err)
			if name == "hook" {
				return exitDone // a client may take anything else for a verdict on the tool call
			}
			return code
		}
	}
	fmt.Fprintf(a.stderr, "c2c: no such command %q\nc2c: hint: c2c help lists them\n", name)
	return exitUsage
}

func (a *app) run(ctx context.Context, cmd command, args []string) (err error) {
	fs, c := flag.NewFlagSet(cmd.name, flag.ContinueOnError), &call{app: a}
	do := cmd.setup(c, fs)
	if cmd.takes&asJSON != 0 {
		fs.BoolVar(&c.json, "json", false, "print JSON")
	}
	if cmd.takes&ofSession != 0 {
		fs.StringVar(&c.session, "session-id", "", "`session` or alias, if not this one")
	}
	c.words, err = cli.Words(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		a.commandHelp(cmd, fs)
		return nil
	case err != nil:
		return fmt.Errorf("%w: %v", errUsage, err)
	case cmd.args == "" && len(c.words) > 0:
		return fmt.Errorf("%w: unexpected %q", errUsage, c.words[0])
	case cmd.takes&alone != 0:
		return do(ctx)
	}
	if c.b, err = a.open(); err != nil {
		return err
	}
	defer c.b.Close()
	if cmd.takes&patient == 0 {
		return c.limited(ctx, do)
	}
	return do(ctx)
}

// limited calls do with as much time as a lock may be waited for.
func (a *app) limited(ctx context.Context, do action) error {
	ctx, cancel := context.WithTimeout(ctx, a.lockWait)
	defer cancel()
	return do(ctx)
}

// report turns an error into words for a person and an exit code.
func (a *app) report(verb string, err error) int {
	if err == nil {
		return exitDone
	}
	var unknown *broker.UnknownAliasError
	code, hint := exitFailed, ""
	switch {
	case errors.Is(err, errNothing):
		return exitNothing
	case errors.Is(err, errUsage):
		code, hint = exitUsage, "c2c "+verb+" --help shows how"
	case errors.As(err, &unknown):
		code, hint = exitNoAlias, "c2c list shows all"
		if len(unknown.Closest) > 0 {
			hint = fmt.Sprintf("did you mean %q? %s", unknown.Closest[0], hint)
		}
	case errors.Is(err, inbox.ErrFull):
		code = exitFull
	case errors.Is(err, filelock.ErrTimeout):
		code, hint = exitLocked, "another process holds the mailbox; try again, or look for a stopped c2c process"
	case errors.Is(err, broker.ErrNoSession):
		hint = "run it inside an agent session, or name one with --session-id; c2c list shows all"
	}
	cli.Report(a.stderr, err, hint)
	return code
}

func (a *app) help(w io.Writer) {
	fmt.Fprint(w, "usage: c2c <command> [arguments]\n\nMail between coding agents. It waits until it has been read.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-12s %s\n", c.name, c.short)
	}
	for _, c := range inC2cd {
		fmt.Fprintf(w, "  %-12s %s\n", c[0], c[1])
	}
	fmt.Fprint(w, "\nc2c <command> --help tells more. Example:\n\n  c2c send amber 'The build is green again.'\n")
}

func (a *app) commandHelp(c command, fs *flag.FlagSet) {
	usage := strings.TrimSpace(c.name + " [options] " + c.args)
	fmt.Fprintf(a.stdout, "usage: c2c %s\n\n%s.\n", usage, c.short)
	cli.Options(a.stdout, fs)
	fmt.Fprint(a.stdout, "\nexit status: 0 done, 1 failed, 2 usage, 3 nothing waiting (--check),\n"+
		"4 no such alias, 5 mailbox full, 6 lock time-out\n")
	fmt.Fprintf(a.stdout, "\nexample:\n  %s\n", c.example)
}
