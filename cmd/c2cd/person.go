package main

import (
	"context"
	"fmt"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/sessions/callers"
	"c2c/sessions/permission"
)

// lifetimeVariable is the variable that says how long a permission request waits for a verdict.
const lifetimeVariable = "C2C_PERMISSION_TTL"

func permissionLifetime(value string) (time.Duration, error) {
	if value == "" {
		return permission.Lifetime, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return 0, fmt.Errorf("%s is %q: want a time from 1s to 24h, for example 10m", lifetimeVariable, value)
	}
	return d, nil
}

// onlyPerson returns an error if no person has run the command. The argument does completes the
// error "only a person ...", for example "opens the page".
func (c *call) onlyPerson(ctx context.Context, b *broker.Broker, does string) error {
	s, err := b.Attach(ctx, c.typed())
	return cli.OnlyPerson(does, s, err)
}

// typed describes a command that only a person may type.
func (c *call) typed() callers.Caller {
	return callers.Caller{Getenv: c.getenv, User: callers.UserHere(c.getenv, c.stdin)}
}
