package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"c2c/cmd/cli"
	"c2c/cmd/relay"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// relay runs c2c relay.
func (c *call) relay(ctx context.Context, v cli.Verb) error {
	own, args := v.Of(c.args)
	if verb := strings.TrimPrefix(own.Name, v.Name+" "); slices.Contains([]string{"run", "start", "stop", "restart"}, verb) {
		return c.switchRelay(ctx, own, args, verb)
	}
	err := relay.Run(ctx, relay.Program{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Getenv: c.getenv, Cwd: c.cwd,
		C2C: c.c2c, Log: c.log, Person: c.personAnywhere}, v, c.args)
	if errors.Is(err, relay.ErrDown) {
		return errDown
	}
	return err
}

// switchRelay switches the relay on or off, as a part of the daemon.
func (c *call) switchRelay(ctx context.Context, own cli.Verb, args []string, verb string) error {
	words, err := cli.NewFlags(own).Parse(args)
	if err == nil && len(words) > 0 {
		err = fmt.Errorf("%w: %s takes no words", errUsage, own.Name)
	}
	if err != nil {
		return err
	}
	d, err := openDaemon(c.getenv, true)
	if err != nil {
		return err
	}
	defer d.Close()
	return backgroundVerb(ctx, c.verbsOf(d, relay.Name, ""), verb)
}

// personAnywhere is like onlyPerson, but also works without a root. It returns nil if a person runs
// the command.
func (c *call) personAnywhere(ctx context.Context, does string) error {
	b, err := c.openThere()
	if errors.Is(err, fs.ErrNotExist) {
		return c.checkPerson(does)
	}
	if err != nil {
		return err
	}
	defer b.Close()
	_, err = c.onlyPerson(ctx, b, does)
	return err
}

// checkPerson is like onlyPerson, but needs no root and no session.
func (c *call) checkPerson(does string) error {
	err := callers.CheckPerson(c.typed(), new(sessions.SystemProcesses))
	if err == nil {
		return nil
	}
	return cli.OnlyPerson(does, sessions.Session{}, err)
}
