package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"c2c/broker"
	"c2c/cmd/ringer"
	"c2c/cmd/watch"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake/terminal"
)

// isTerminal reports whether a person can see what is written to out.
func isTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && terminal.IsTerminal(file)
}

// watch shows the root on the whole screen.
func (c *call) watch(ctx context.Context) error {
	session := c.Text("session-id")
	if _, err := c.words(); err != nil {
		return err
	}
	user := callers.UserHere(c.getenv, c.stdin)
	if !user.IsTyping() || !isTerminal(os.Stdout) {
		return errors.New("watch needs a terminal; c2c monitor writes lines instead")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	caller := callers.Caller{Explicit: *session, Getenv: c.getenv, User: user}
	if err := c.awaitRoot(ctx, c.tellWait); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	silent := *c.app // a log would overwrite the screen
	silent.log = slog.New(slog.DiscardHandler)
	defer silent.ringer(ringer.Scope{}).StartChecking(ctx)()
	return watch.Run(ctx, watch.Config{
		Open: func(ctx context.Context) (*broker.Broker, error) {
			if err := c.awaitRoot(ctx, func(error) {}); err != nil { // the root may be removed while the screen shows it
				return nil, err
			}
			return c.open(slog.New(slog.DiscardHandler))
		},
		Who: func(ctx context.Context, b *broker.Broker) (sessions.Session, error) {
			s, err := b.Attach(ctx, caller)
			if err != nil {
				return s, fmt.Errorf("%w; name the session that writes: c2c watch --session-id NAME", err)
			}
			return s, nil
		},
		Left: c.stderr,
	})
}
