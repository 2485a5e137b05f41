// Package rare runs c2c handover, sweep, prune and keep (the deadlines): people seldom type these verbs, and they need no large library.
// They are in c2cd: if they were in the program c2c, every hook would have to load them.
package rare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Program has the input, output and environment of a verb.
type RareProgram struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Cwd            string
	LockWait       time.Duration // how long to wait for another process's lock
}

// call is one run of a verb.
type call struct {
	RareProgram
	*cli.Flags
	b     *broker.Broker
	words []string
	json  bool
}

// verb has the code of a verb.
type verb struct {
	do      func(context.Context) error    // runs the verb in an open root
	missing func() (answer any, err error) // returns the verb's answer, or its error, if there is no root
}

// Names are the verbs of this package.
var RareNames = []string{"handover", "sweep", "prune", "keep"}

// Run runs a verb of this package.
func RunRare(ctx context.Context, p RareProgram, row cli.Verb, args []string) (err error) {
	c := &call{RareProgram: p, Flags: cli.NewFlags(row)}
	if row.Name == "keep" {
		return c.keep(ctx, args)
	}
	v := map[string]func() verb{"handover": c.handover, "sweep": c.sweep, "prune": c.prune}[row.Name]()
	c.BoolVar(&c.json, "json")
	if c.words, err = c.Parse(args); err != nil {
		return err
	}
	if answered, err := c.withoutRoot(v); answered || err != nil {
		return err
	}
	c.b, err = broker.OpenFor(callers.Caller{Getenv: p.Getenv}, p.Cwd, broker.Config{Log: c.log()})
	if err != nil {
		return err
	}
	defer c.b.Close()
	ctx, cancel := context.WithTimeout(ctx, p.LockWait)
	defer cancel()
	return v.do(ctx)
}

func (c *call) log() inbox.Log {
	return sessions.WarningLogger(cli.Warnings(c.Stderr))
}

// withoutRoot answers for the verb if there is no root; then answered is true. Such a verb must not make a root: if C2C_MCP_BROKER_ROOT
// has a mistyped name, the verb would make directories with this name, and the answer would look as if the name were right. withoutRoot
// also prints on standard error that the root is missing.
func (c *call) withoutRoot(v verb) (answered bool, err error) {
	missing := cli.NeedRootAt(c.Getenv, c.Cwd)
	if !errors.Is(missing, fs.ErrNotExist) {
		return false, missing
	}
	answer, err := v.missing()
	if err != nil {
		return true, fmt.Errorf("%w: %w", err, missing)
	}
	cli.Report(c.Stderr, cli.FailureOf("", missing), nil)
	return true, c.show(answer, func() {})
}

// show prints v as JSON if --json is set. Otherwise it calls the function text, which prints the answer as text.
func (c *call) show(v any, text func()) error {
	if c.json {
		return cli.JSON(c.Stdout, v)
	}
	text()
	return nil
}

// printf prints a part of an answer.
func (c *call) printf(format string, words ...any) { cli.Printf(c.Stdout, format, words...) }
