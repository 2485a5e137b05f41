package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"sync"

	"c2c/broker"
	"c2c/broker/mcpserver"
	"c2c/install"
)

// mcp serves one client on standard input and output until its input ends.
func (a *app) mcp(ctx context.Context) error {
	channel, err := channelMode(a.getenv(channelVariable))
	if err != nil {
		return err
	}
	client := cmp.Or(os.Getppid(), os.Getpid()) // it may be outside of our PID namespace
	var srv *mcpserver.Server
	var once sync.Once
	stop := func() {}
	srv = mcpserver.New(mcpserver.Config{
		Channel: channel != channelOff,
		Client:  a.getenv("C2C_MCP_CLIENT_TYPE"), Getenv: a.getenv, PID: client,
		Initialized: func(name string) {
			once.Do(func() { stop = a.startRinging(ctx, name, client, pushing{channel, srv}) })
		},
		Open: func(log *slog.Logger) (*broker.Broker, error) {
			root, _, err := broker.FindRoot(a.getenv, a.cwd)
			if err != nil {
				return nil, err
			}
			return broker.Open(broker.Config{Root: root, Log: log})
		},
	})
	defer func() {
		once.Do(func() {}) // who was never initialized does not start to ring now
		stop()
	}()
	err = mcpserver.Serve(ctx, a.stdin, a.stdout, srv, mcpserver.Limits{})
	if ctx.Err() != nil {
		return nil // a signal is how clients end their servers
	}
	return err
}

// startRinging wakes the client's sessions until stop is called.
func (a *app) startRinging(ctx context.Context, client string, pid int, channel pushing) (stop func()) {
	var r reach
	switch client {
	case install.Claude:
		r = claudeReach{a, pid, channel}
	case install.Codex:
		r = codexReach{a, pid}
	default:
		return func() {}
	}
	return (&ringer{a: a, reach: r, log: a.log}).start(ctx)
}
