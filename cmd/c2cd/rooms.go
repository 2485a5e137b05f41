package main

import (
	"context"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/roomed"
)

// together runs c2c relay, c2c rooms and c2c post.
func (c *call) together(ctx context.Context, v cli.Verb) error {
	run := roomed.RunRooms
	switch v.Name {
	case "relay":
		return c.relay(ctx, v)
	case "post":
		run = roomed.PostToRoom
	}
	open := func() (*broker.Broker, error) { return c.open(c.log) }
	return run(ctx, roomed.RoomProgram{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Getenv: c.getenv, Open: open, Wait: lockWait}, v, c.args)
}
