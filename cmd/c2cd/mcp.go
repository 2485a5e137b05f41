package main

import (
	"context"
	"os"
	"runtime/debug"

	"c2c/broker"
	"c2c/broker/mcpserver"
	"c2c/install"
)

// mcp serves one client on standard input and output until its input ends.
func (a *app) mcp(ctx context.Context) error {
	srv := mcpserver.New(mcpserver.Config{
		Version: version(), Client: a.getenv("C2C_MCP_CLIENT_TYPE"), Getenv: a.getenv, PID: os.Getppid(),
		Open: func() (*broker.Broker, error) {
			root, _, err := broker.FindRoot(a.getenv, a.cwd)
			if err != nil {
				return nil, err
			}
			return broker.Open(broker.Config{Root: root})
		},
	})
	if a.getenv("C2C_MCP_CLIENT_TYPE") == install.Claude {
		ringing, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&ringer{a, os.Getppid(), a.log}).run(ringing)
		}()
		defer func() { stop(); <-done }()
	}
	err := mcpserver.Serve(ctx, a.stdin, a.stdout, srv, mcpserver.Limits{})
	if ctx.Err() != nil {
		return nil // a signal is how clients end their servers
	}
	return err
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
