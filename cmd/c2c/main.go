// Command c2c carries mail between coding agents.
//
// It is kept small on purpose: a hook runs it on every tool call and scripts
// call send, so it must start like an empty program. Whatever needs a large
// library is in c2cd, which the verbs mcp, start, install, uninstall and doctor run.
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

// app is the world outside, so that a test can be it.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	cwd            string
	lockWait       time.Duration // how long to wait for another process that is writing
}

// command is one verb. run gets what is left after the flags.
type command struct {
	name    string
	args    string
	short   string
	example string
	setup   func(fs *flag.FlagSet) func(ctx context.Context, a *app, args []string) error
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
	a.stdout, a.stderr = &answer{to: a.stdout}, &inbox.Screen{W: a.stderr}
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
	case "mcp", "start", "wake", "install", "uninstall", "doctor":
		return a.report(name, a.become(args))
	}
	for _, c := range commands() {
		if c.name == name {
			err := errors.Join(a.run(ctx, c, args[1:]), a.flush())
			if errors.Is(err, errRing) {
				return exitRing
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

func (a *app) run(ctx context.Context, c command, args []string) error {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := c.setup(fs)
	words, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		a.commandHelp(c, fs)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	if c.args == "" && len(words) > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, words[0])
	}
	return run(ctx, a, words)
}

// parse lets flags stand before, between and behind the words; after -- all are words.
func parse(fs *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(words, rest...), nil
		}
		if len(rest) == 0 {
			return words, nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
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
	fmt.Fprintf(a.stderr, "c2c: %s\n", strings.TrimPrefix(err.Error(), "usage: "))
	if hint != "" {
		fmt.Fprintf(a.stderr, "c2c: hint: %s\n", hint)
	}
	return code
}

func (a *app) help(w io.Writer) {
	fmt.Fprint(w, "usage: c2c <command> [arguments]\n\nMail between coding agents. It waits until it has been read.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-12s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "  start        run a client as a session with a name\n"+
		"  wake         wake sessions from outside: a daemon, tmux, screen\n"+
		"  mcp          the MCP server that a client starts\n"+
		"  install      set up a client; --dry-run shows the changes\n"+
		"  uninstall    take the changes back\n"+
		"  doctor       check the root and the installed clients\n\n"+
		"c2c <command> --help tells more. Example:\n\n  c2c send amber 'The build is green again.'\n")
}

func (a *app) commandHelp(c command, fs *flag.FlagSet) {
	usage := strings.TrimSpace(c.name + " [options] " + c.args)
	fmt.Fprintf(a.stdout, "usage: c2c %s\n\n%s.\n", usage, c.short)
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(a.stdout, "\noptions:\n")
			first = false
		}
		name, usage := option(f)
		fmt.Fprintf(a.stdout, "  %-22s %s\n", name, usage)
	})
	fmt.Fprint(a.stdout, "\nexit status: 0 done, 1 failed, 2 usage, 3 nothing waiting (--check),\n"+
		"4 no such alias, 5 mailbox full, 6 lock time-out\n")
	fmt.Fprintf(a.stdout, "\nexample:\n  %s\n", c.example)
}

// option gives a flag as one types it, and what it does.
func option(f *flag.Flag) (name, usage string) {
	value, usage := flag.UnquoteUsage(f)
	name = "--" + f.Name
	if len(f.Name) == 1 {
		name = "-" + f.Name
	}
	alone, ok := f.Value.(interface{ IsBoolFlag() bool })
	switch {
	case value == "":
		return name, usage
	case ok && alone.IsBoolFlag():
		return name + "[=" + value + "]", usage
	}
	return name + " " + value, usage
}
