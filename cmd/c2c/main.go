// Command c2c carries mail between coding agents.
//
// c2c is kept small on purpose: clients run it as a hook on every tool call, and scripts call c2c
// send. So it must start as fast as an empty program. Verbs that need a large library are in c2cd,
// which c2c runs for them.
package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/rooms"
)

// exitOnStderr makes a client show the standard error of c2c to its model. c2c uses this exit
// status for a ring, and for answers that the client's protocol wants on standard error.
const exitOnStderr = 2

// app has the program's input, output and environment. A test makes an app of its own.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	cwd            string
	lockWait       time.Duration // how long to wait for another process's lock
}

// command is one verb. The table of package cli has a row for the verb. The function setup binds
// the verb's options, and returns the verb's action.
type command struct {
	name   string
	traits traits
	setup  func(c *call, f *cli.Flags) action
}

type action = func(ctx context.Context) error

// traits are properties that several commands share.
type traits int

const (
	patient traits = 1 << iota // the command may wait for more than a lock, so it sets its own time limits
	alone                      // the command needs no broker, or opens the broker itself
)

// call is one run of a command.
type call struct {
	*app
	b       *broker.Broker
	words   []string // the arguments that are no options
	json    bool
	session string // the session that the caller has named, or ""
	silent  bool   // only errors go to standard error
	project string // the project that the caller has named, or ""
}

var errUsage = cli.ErrUsage

func main() {
	widen(-1)
	cwd, _ := os.Getwd() // without a working directory, only an absolute root works
	a := &app{os.Stdin, os.Stdout, os.Stderr, os.Getenv, cwd, lockWait}
	// There is no signal handler: a kill at any time loses nothing, and a handler would slow down
	// the start of every hook.
	os.Exit(a.main(context.Background(), os.Args[1:]))
}

func (a *app) main(ctx context.Context, args []string) int {
	a.stdout, a.stderr = &answer{to: a.stdout}, &mail.VisibleWriter{W: a.stderr}
	if len(args) == 0 {
		cli.Overview(a.stderr)
		return cli.Usage
	}
	args = cli.Spelled(args)
	name := args[0]
	switch name {
	case "help", "-h", "--help":
		return a.report(args, errors.Join(a.help(args[1:]), a.flush()))
	case "--version":
		name = "version"
	case completeVerb:
		a.complete(ctx, args[1:])
		a.flush() // the shell offers nothing if this fails
		return cli.Done
	}
	verb, known := cli.Find(name)
	if !known {
		return a.report(args, noVerb(args))
	}
	if verb.C2cd {
		return a.report(args, a.runC2cd(args))
	}
	err := errors.Join(a.run(ctx, verb, args[1:]), a.flush())
	if errors.Is(err, errOnStderr) {
		return exitOnStderr
	}
	code := a.report(args, err)
	if name == "hook" {
		return cli.Done // to a client, another status may mean that the tool call is refused
	}
	return code
}

func (a *app) run(ctx context.Context, verb cli.Verb, args []string) (err error) {
	verb, args = verb.Of(args)
	cmd, f, c := commandOf(verb.Name), cli.NewFlags(verb), &call{app: a}
	do := cmd.setup(c, f)
	if f.Has("json") {
		f.BoolVar(&c.json, "json")
	}
	if f.Has("session-id") {
		f.TextVar(&c.session, "session-id")
	}
	if f.Has("project") {
		f.TextVar(&c.project, "project")
	}
	c.words, err = f.Parse(args)
	switch {
	case errors.Is(err, cli.ErrHelp):
		verb.Help(a.stdout)
		return nil
	case err != nil:
		return err
	case cmd.traits&alone != 0:
		return do(ctx)
	case f.Given("everywhere"): // a directory without a root is no reason to show nothing
		return c.limited(ctx, do)
	}
	empty, needsRoot := c.emptyAnswer(verb.Name, f)
	c.b, err = c.open(needsRoot)
	if needsRoot && errors.Is(err, fs.ErrNotExist) {
		return c.showEmpty(err, empty)
	}
	if err != nil {
		return err
	}
	defer c.b.Close()
	if cmd.traits&patient == 0 {
		return c.limited(ctx, do)
	}
	return do(ctx)
}

// limited calls the function do with a context that ends after lockWait.
func (a *app) limited(ctx context.Context, do action) error {
	limit, end := within(ctx, a.lockWait)
	defer end()
	return do(limit)
}

// report prints an error, for a person or as JSON for a program, and returns the exit code.
func (a *app) report(args []string, err error) int {
	if err == nil {
		return cli.Done
	}
	if errors.Is(err, errNothing) {
		return cli.Nothing
	}
	f := cli.FailureOf(args[0], cli.WithExample(err, args)).Elsewhere(err, a.getenv, a.cwd)
	if errors.Is(err, rooms.ErrNoRoom) {
		f.Exit = cli.NoAlias
	}
	if room, _ := client.ShellRoom(a.getenv, ""); room > 0 {
		f = f.InShellOf(args[0], err)
	}
	cli.Report(a.stderr, f, args)
	return f.Exit
}
