// Command c2cd runs the larger verbs of c2c: it serves the tools, runs the daemons, sets clients
// up, diagnoses problems, and draws the screen. Only these verbs may link large libraries. People
// type c2c, which starts c2cd for such a verb.
//
// Most files have one verb. The verb reads the words and options, opens the root, calls a package,
// and prints the result.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions/callers"
	"c2c/wake/terminal"
)

var errUsage = cli.ErrUsage

// app holds the program's input, output and environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	cwd            string
	c2c            string // the path of c2c for the clients' configurations
	log            *slog.Logger
	owner          callers.Caller // for whom the root is found; the method caller adds getenv
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == terminal.LeadVerb {
		status, err := terminal.Lead(os.Args[2:])
		if err != nil {
			status = 1 // the file 3 has the reason
		}
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cwd, _ := os.Getwd() // without a working directory, only an absolute root works
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, cwd: cwd, c2c: findC2C(),
		log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	os.Exit(a.main(ctx, os.Args[1:]))
}

// findC2C returns the path of c2c in the directory of this program. If a link in the PATH leads
// there (/usr/local/bin/c2c), it returns the link, because clients keep the path, and the directory
// may belong to only one version of c2c.
func findC2C() string {
	self, err := os.Executable()
	if err != nil {
		return "c2c"
	}
	own := filepath.Join(filepath.Dir(self), "c2c")
	link, err := exec.LookPath("c2c")
	if err != nil || !filepath.IsAbs(link) {
		return own
	}
	if real, err := filepath.EvalSymlinks(link); err == nil && real != link && real == own {
		return link
	}
	return own
}

func (a *app) main(ctx context.Context, args []string) int {
	out := &mail.VisibleWriter{W: a.stdout}
	if len(args) > 0 && args[0] != "mcp" && args[0] != "start" && args[0] != "plugin" && args[0] != "monitor" { // these four write lines of a protocol, or pass on a client's output
		a.stdout, a.stderr = out, &mail.VisibleWriter{W: a.stderr}
	}
	err := fmt.Errorf("%w: c2cd <verb>; people type c2c, which runs it", errUsage)
	if len(args) > 0 {
		err = a.run(ctx, args[0], args[1:])
	}
	var status cli.ExitStatus
	if err == nil || errors.As(err, &status) {
		if out.Err == nil {
			return int(status)
		}
		err = fmt.Errorf("write answer: %w", out.Err)
	}
	f := cli.FailureOf(strings.Join(args[:min(1, len(args))], ""), cli.WithExample(err, args)).Elsewhere(err, a.getenv, a.cwd)
	cli.Report(a.stderr, f, args)
	return f.Exit
}

// verbs has the function of each verb. The file of a verb adds it in its init, under the name of the
// verb's row in package cli. A verb below another one that is not here is run by that one.
var verbs = map[string]func(*call, context.Context) error{}

func (a *app) run(ctx context.Context, name string, args []string) error {
	v, known := cli.Find(name)
	if !known || !v.C2cd {
		return fmt.Errorf("%w: c2cd has no verb %q", errUsage, name)
	}
	own, rest := v.Of(args)
	c := &call{app: a, Flags: cli.NewFlags(own), args: rest}
	do := verbs[own.Name]
	if do == nil {
		c.Flags, c.args, do = cli.NewFlags(v), args, verbs[name]
	}
	if do == nil {
		return fmt.Errorf("no file of cmd/c2cd adds the verb %q", name)
	}
	err := do(c, ctx)
	if errors.Is(err, cli.ErrHelp) {
		own.Help(a.stdout)
		return nil
	}
	return err
}

// call is one run of a verb.
type call struct {
	*app
	*cli.Flags // the verb's method binds the options
	args       []string
}

// words reads the options in c.args, and returns the other arguments.
func (c *call) words() ([]string, error) { return c.Parse(c.args) }

func (a *app) root() (string, error) {
	root, _, err := broker.RootFor(a.caller(), a.cwd)
	return root, err
}

func (a *app) caller() callers.Caller {
	c := a.owner
	c.Getenv = a.getenv
	return c
}

// openThere opens the root for a verb that never creates one.
func (a *app) openThere() (*broker.Broker, error) {
	b, err := broker.OpenFor(a.caller(), a.cwd, broker.Config{Log: a.log, Existing: true})
	return b, cli.NoRoot(err)
}

// openIfThere is like openThere, for a verb that only shows something. If there is no root, it
// prints a line and returns nil.
func (a *app) openIfThere() (*broker.Broker, error) {
	b, err := a.openThere()
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(a.stderr, "c2c: %v\n", err)
		return nil, nil
	}
	return b, err
}

// awaitRoot returns nil when a process has created the root, or an error when ctx ends. It calls
// the function tell before it waits.
func (a *app) awaitRoot(ctx context.Context, tell func(missing error)) error {
	tick := time.NewTicker(rootLook)
	defer tick.Stop()
	for waits := false; ; waits = true {
		missing := cli.NeedRoot(a.getenv, a.cwd) // find the root again: another clone of the project may have created one
		if !errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
		if !waits {
			tell(missing)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// rootLook is the time between two checks of awaitRoot. awaitRoot checks again and again, because
// there is no file yet that it could watch.
const rootLook = time.Second

// tellWait prints that the command waits until there is a root.
func (a *app) tellWait(missing error) {
	fmt.Fprintf(a.stderr, "c2c: %v; waiting for the first session\n", missing)
}

func (a *app) open(log inbox.Log) (*broker.Broker, error) {
	return broker.OpenFor(a.caller(), a.cwd, broker.Config{Log: log})
}
