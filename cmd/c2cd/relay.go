package main

import (
	"context"
	"errors"
	"io/fs"

	"c2c/cmd/cli"
	"c2c/cmd/relay"
	"c2c/internal/daemon"
)

func init() { verbs["relay"] = (*call).relay }

// relay runs c2c relay.
func (c *call) relay(ctx context.Context) error {
	return relay.Run(ctx, relay.Program{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Getenv: c.getenv, Cwd: c.cwd,
		C2C: c.c2c, Log: c.log, Person: c.personAnywhere, Switch: func(d daemon.Daemon, verb string) error {
			return backgroundVerb(ctx, c.verbsOf(d, relay.Name, ""), verb)
		}}, c.args)
}

// personAnywhere is like onlyPerson, but also works without a root. It returns nil if a person runs
// the command.
func (c *call) personAnywhere(ctx context.Context, does string) error {
	b, err := c.openThere()
	if errors.Is(err, fs.ErrNotExist) {
		return cli.CheckPerson(c.typed(), does)
	}
	if err != nil {
		return err
	}
	defer b.Close()
	return c.onlyPerson(ctx, b, does)
}
