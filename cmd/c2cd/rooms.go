package main

import (
	"context"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/roomed"
)

// rooms runs c2c rooms and c2c post.
func (c *call) rooms(ctx context.Context, v cli.Verb) error {
	run := roomed.Run
	if v.Name == "post" {
		run = roomed.Post
	}
	open := func() (*broker.Broker, error) { return c.open(c.log) }
	return run(ctx, roomed.Program{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Getenv: c.getenv, Open: open, Wait: lockWait}, v, c.args)
}
