package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/ringer"
	"c2c/inbox"
	"c2c/install"
	"c2c/mcp"
	"c2c/mcp/tools"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

const (
	channelOff     = ""
	channelContent = "content"
)

func channelMode(value string) (string, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return channelOff, nil
	case "1", "true", "yes", "on", client.ChannelDoorbell:
		return client.ChannelDoorbell, nil
	case channelContent:
		return channelContent, nil
	}
	return "", fmt.Errorf("%s is %q: want doorbell, content or 0", client.ChannelEnv, value)
}

func init() { verbs["mcp"] = (*call).mcp }

// mcp serves one client on standard input and output, until the input ends.
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
	channel, err := channelMode(a.getenv(client.ChannelEnv))
	if err != nil {
		return err
	}
	lifetime, err := permissionLifetime(a.getenv(lifetimeVariable))
	if err != nil {
		return err
	}
	relay := &tools.Relay{Lifetime: lifetime, Log: a.log}
	defer relay.Close()
	var srv *tools.Server
	push := pushBy(channel, &srv)
	parent := cmp.Or(os.Getppid(), os.Getpid()) // Getppid is 0 if the parent is outside this PID namespace
	a.owner = callers.Caller{Client: kind, PID: parent}
	if p, _ := client.Find(kind); p.SessionServer {
		a.owner.ClientID = a.getenv(p.SessionEnv)
	}
	var once sync.Once
	stop := func() {}
	stateless, hush := a.stateless(ctx)
	defer hush()
	srv = tools.New(tools.Config{
		Stateless: stateless,
		Channel:   push != nil, Relay: relay, Silent: silent, Log: a.log,
		Client: kind, Getenv: a.getenv, PID: parent,
		Uninstalled: func(name string, pid int) bool {
			return !*plugin && sessions.Uninstalled(a.getenv, client.Name(name), pid)
		},
		Initialized: func(name string) {
			once.Do(func() {
				if scope, known := ringer.Server(name, parent, push); known {
					stop = a.startRinging(ctx, scope)
				} else { // this server cannot ring; but it runs for long, so it acts on the deadlines
					stop = a.ringer(scope).StartChecking(ctx)
				}
			})
		},
		Open: a.open,
		RootBy: func() string {
			_, source, _ := broker.RootFor(a.caller(), a.cwd)
			return source
		},
	})
	defer func() {
		once.Do(func() {}) // if the client did not initialize, nothing may start ringing now
		stop()
	}()
	err = mcp.Serve(ctx, a.stdin, a.stdout, srv, mcp.StdioLimits{Log: a.log, Stateless: stateless})
	if ctx.Err() != nil {
		return nil // a signal is how clients end their servers
	}
	return err
}

// pushBy returns a function that makes the method by which mail of a mailbox is sent as channel
// notifications. It returns nil if there is no channel. The caller sets *srv later.
func pushBy(channel string, srv **tools.Server) func(*inbox.Mailbox, func(context.Context) bool) wake.Method {
	if channel == channelOff {
		return nil
	}
	// The method is Unproven, because nothing shows whether the client was started with the
	// channel.
	return func(box *inbox.Mailbox, busy func(context.Context) bool) wake.Method {
		c := &tools.Channel{Server: *srv, Box: box, Busy: busy}
		m := wake.Method{Name: wake.ByChannel, Doorbell: c, Unproven: true}
		if channel == channelContent {
			m.Carrier = c
		}
		return m
	}
}

// stateless makes the part of the server for clients that have only MCP 2026-07-28. Until the
// function stop is called, m also rings clients that have subscribed.
func (a *app) stateless(ctx context.Context) (m *mcp.Stateless, stop func()) {
	var once sync.Once
	hush := func() {}
	m = &mcp.Stateless{Listens: func(bells func() map[string]wake.Doorbell, changed <-chan struct{}) {
		once.Do(func() { hush = a.ringer(ringer.Streams(bells, changed)).Start(ctx) })
	}}
	return m, func() {
		once.Do(func() {}) // if the client did not subscribe, nothing may start ringing now
		hush()
	}
}

// startRinging wakes the client's sessions until stop is called.
func (a *app) startRinging(ctx context.Context, scope ringer.Scope) (stop func()) {
	r := a.ringer(scope)
	state, _ := project.StateDir(a.getenv)
	r.Hooked = func(id string) bool {
		_, err := os.Stat(callers.PointerPath(state, id))
		return err == nil
	}
	return r.Start(ctx)
}

func (a *app) ringer(scope ringer.Scope) *ringer.Ringer {
	return &ringer.Ringer{Scope: scope, Getenv: a.getenv, Log: a.log, Root: a.root}
}
