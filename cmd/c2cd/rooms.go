package main

import (
	"context"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/roomed"
)

// together runs c2c relay and c2c rooms.
func (c *call) together(ctx context.Context, v cli.Verb) error {
	if v.Name == "relay" {
		return c.relay(ctx, v)
	}
	open := func() (*broker.Broker, error) { return c.open(c.log) }
	return roomed.RunRooms(ctx, roomed.RoomProgram{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Getenv: c.getenv, Open: open, Wait: lockWait}, v, c.args)
}
