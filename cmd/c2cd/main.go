// Command c2cd has the verbs of c2c that link large libraries: the MCP server, waking, and the set-up of
// clients. People type c2c, which runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/install"
)

var errUsage = errors.New("usage")

// app is what the program reads, writes and knows of its surroundings.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	cwd            string
	c2c            string // the program that clients are to run
	log            *slog.Logger
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cwd, _ := os.Getwd() // without one, only an absolute root works
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, cwd: cwd, c2c: findC2C(),
		log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	os.Exit(a.main(ctx, os.Args[1:]))
}

// findC2C returns the c2c in the directory of this program.
func findC2C() string {
	self, err := os.Executable()
	if err != nil {
		return "c2c"
	}
	return filepath.Join(filepath.Dir(self), "c2c")
}

func (a *app) main(ctx context.Context, args []string) int {
	out := &inbox.VisibleWriter{W: a.stdout}
	if len(args) > 0 && args[0] != "mcp" && args[0] != "start" && args[0] != "plugin" { // those pass on what a client writes
		a.stdout, a.stderr = out, &inbox.VisibleWriter{W: a.stderr}
	}
	err := fmt.Errorf("%w: c2cd mcp | plugin | start | wake | wire-daemon | inject | install | uninstall | doctor", errUsage)
	if len(args) > 0 {
		switch args[0] {
		case "mcp":
			err = a.mcp(ctx, args[1:])
		case "plugin":
			err = a.plugin(ctx, args[1:])
		case "start":
			var status int
			if status, err = a.start(ctx, args[1:]); err == nil {
				return status
			}
		case "wake":
			err = a.wake(ctx, args[1:])
		case "wire-daemon":
			err = a.wireDaemon(ctx, args[1:])
		case "inject":
			err = a.inject(ctx, args[1:])
		case "install":
			err = a.edit("install", args[1:], install.PlanInstall)
		case "uninstall":
			err = a.edit("uninstall", args[1:], install.PlanUninstall)
		case "doctor":
			err = a.doctor(ctx, args[1:])
		}
	}
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err == nil && out.Err != nil {
		err = fmt.Errorf("write answer: %w", out.Err)
	}
	if err == nil {
		return 0
	}
	code, hint := 1, ""
	switch {
	case errors.Is(err, errUsage):
		code = 2
		if len(args) > 0 {
			hint = "c2c " + args[0] + " --help shows how"
		}
	case errors.Is(err, broker.ErrNoSession):
		hint = "c2c list shows all"
	}
	cli.Report(a.stderr, err, hint)
	return code
}

// verb is a command with its flags and its help.
type verb struct {
	*flag.FlagSet
	a              *app
	usage, example string
}

func (a *app) verb(name, usage, example string) verb {
	return verb{flag.NewFlagSet(name, flag.ContinueOnError), a, usage, example}
}

// read returns the words among args, after the flags were set.
func (v verb) read(args []string) ([]string, error) {
	words, err := cli.Words(v.FlagSet, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(v.a.stdout, v.usage)
		cli.Options(v.a.stdout, v.FlagSet)
		fmt.Fprintf(v.a.stdout, "\nexit status: 0 done, 1 failed, 2 usage\n\nexample:\n  c2c %s\n", v.example)
	} else if err != nil {
		err = fmt.Errorf("%w: %w", errUsage, err)
	}
	return words, err
}

// none is read for a verb that takes none.
func (v verb) none(args []string) error {
	found, err := v.read(args)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%w: unexpected %q", errUsage, found[0])
	}
	return err
}

func (a *app) root() (string, error) {
	root, _, err := broker.FindRoot(a.getenv, a.cwd)
	return root, err
}

func (a *app) open(log *slog.Logger) (*broker.Broker, error) {
	return broker.OpenHere(a.getenv, a.cwd, broker.Config{Log: log})
}
