package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/broker/mcpserver"
	"c2c/broker/ringer"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/install"
	"c2c/wake"
)

// channelVariable turns channel notifications on: doorbell (or 1) pushes no bodies, content does.
const channelVariable = "C2C_MCP_CHANNEL_DELIVERY"

const (
	channelOff      = ""
	channelDoorbell = "doorbell"
	channelContent  = "content"
)

func channelMode(value string) (string, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return channelOff, nil
	case "1", "true", "yes", "on", channelDoorbell:
		return channelDoorbell, nil
	case channelContent:
		return channelContent, nil
	}
	return "", fmt.Errorf("%s is %q: want doorbell, content or 0", channelVariable, value)
}

// mcp serves one client on standard input and output until its input ends.
func (a *call) mcp(ctx context.Context) error {
	plugin := a.Bool("plugin")
	if _, err := a.words(); err != nil {
		return err
	}
	kind := a.getenv("C2C_MCP_CLIENT_TYPE")
	silent := false
	if o, err := a.options(); *plugin && err == nil {
		silent = install.HasServer(client.Name(kind), o)
	}
	channel, err := channelMode(a.getenv(channelVariable))
	if err != nil {
		return err
	}
	lifetime, err := permissionLifetime(a.getenv(lifetimeVariable))
	if err != nil {
		return err
	}
	relay := &mcpserver.Relay{Present: a.approverThere, Lifetime: lifetime, Log: a.log}
	defer relay.Close()
	var srv *mcpserver.Server
	var push func(*inbox.Mailbox, func(context.Context) bool) wake.Method
	if channel != channelOff {
		// The client may have been started without it, and does not tell.
		push = func(box *inbox.Mailbox, busy func(context.Context) bool) wake.Method {
			c := &mcpserver.Channel{Server: srv, Box: box, Busy: busy}
			m := wake.Method{Name: wake.ByChannel, Doorbell: c, Unproven: true}
			if channel == channelContent {
				m.Carrier = c
			}
			return m
		}
	}
	parent := cmp.Or(os.Getppid(), os.Getpid()) // it may be outside of our PID namespace
	var once sync.Once
	stop := func() {}
	srv = mcpserver.New(mcpserver.Config{
		Channel: push != nil, Relay: relay, Silent: silent, Log: a.log,
		Client: kind, Getenv: a.getenv, PID: parent,
		Uninstalled: func(name string, pid int) bool {
			return !*plugin && broker.Uninstalled(a.getenv, client.Name(name), pid)
		},
		Initialized: func(name string) {
			once.Do(func() {
				if scope, known := ringer.Server(name, parent, push); known {
					stop = a.startRinging(ctx, scope)
				} else { // it stays, so no command need look after what messages are owed
					stop = a.ringer(scope).StartKeeping(ctx)
				}
			})
		},
		Open: a.open,
		RootBy: func() string {
			_, source, _ := broker.FindRoot(a.getenv, a.cwd)
			return source
		},
	})
	defer func() {
		once.Do(func() {}) // who was never initialized does not start to ring now
		stop()
	}()
	err = mcpserver.Serve(ctx, a.stdin, a.stdout, srv, mcpserver.Limits{Log: a.log})
	if ctx.Err() != nil {
		return nil // a signal is how clients end their servers
	}
	return err
}

// startRinging wakes the client's sessions until stop is called.
func (a *app) startRinging(ctx context.Context, scope ringer.Scope) (stop func()) {
	r := a.ringer(scope)
	state, _ := broker.StateDir(a.getenv)
	r.Hooked = func(id string) bool {
		_, err := os.Stat(hooks.PointerPath(state, id))
		return err == nil
	}
	return r.Start(ctx)
}

func (a *app) ringer(scope ringer.Scope) *ringer.Ringer {
	return &ringer.Ringer{Scope: scope, Getenv: a.getenv, Log: a.log, Root: a.root,
		Open: func(root string) (*broker.Broker, error) {
			return broker.Open(broker.ConfigOf(a.getenv, root, a.log))
		}}
}
