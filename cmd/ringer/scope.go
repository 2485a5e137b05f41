package ringer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/plugin"
	"c2c/wake/terminal"
	"c2c/wake/watch"
)

// Scope chooses the sessions that a ringer rings, and the ways to reach them.
type Scope struct {
	sessions func(context.Context, *Ringer, *broker.Broker) ([]sessions.Session, error)
	ways     func(wake.RingContext, wake.Session) (wake.Ways, error)
	// byProcess means that only the process identifies the session: the session stays the same even
	// if the client gives it another id while a message is on its way.
	byProcess bool
	changed   <-chan struct{} // signals that the sessions or their mail may have changed; nil: the ringer watches the registry
	// bells, if set, returns the bells of the sessions that have one, by session id. The ringer
	// then rings only these sessions, and passes each with its bell to the function ways.
	bells func() map[string]wake.Doorbell
	// lockPerRing means that the ringer takes a session's ring lock only for the time of a ring. So
	// an MCP server in the session's client, which keeps the lock while it runs, takes precedence.
	lockPerRing bool
	// bell means that this process records that it rings a session, so that senders may count on
	// it; see sessions.Session.HasBell.
	bell bool
	// process is started with the client or before it. It stands for the process of a session that
	// has none of its own, when the ringer asks whether c2c was uninstalled since; 0: none.
	process int
}

// Server returns the scope of an MCP server. The client called name has started the server; pid is
// the client's process id. The function push makes the server's own method, which is tried first;
// nil: the server has none. If c2c has no way to wake the client, ok is false.
func Server(name string, pid int, push func(_ *inbox.Mailbox, busy func(context.Context) bool) wake.Method) (scope Scope, ok bool) {
	c, ok := wake.FindClient(name)
	profile, _ := client.Find(name)
	scope.byProcess = profile.Open == nil
	scope.bell = profile.Typed      // for others, senders see that from the held ring lock
	registered := map[string]bool{} // open sessions, by the client's id
	scope.ways = func(p wake.RingContext, s wake.Session) (wake.Ways, error) {
		p.Inside = true
		if push != nil {
			p.Push = func(busy func(context.Context) bool) wake.Method { return push(p.Box, busy) }
		}
		return c.Ways(p, s)
	}
	scope.sessions = func(ctx context.Context, r *Ringer, b *broker.Broker) ([]sessions.Session, error) {
		if profile.Open != nil {
			open, _ := profile.Open(pid)
			r.registerOpenSessions(ctx, b, c, pid, open, registered)
			return choose(ctx, b, func(s sessions.Session) bool { return s.Client == name && isOpen(open, s) })
		}
		if profile.Shared(pid, r.Getenv) {
			return choose(ctx, b, func(s sessions.Session) bool { return s.Client == name && s.Process == pid })
		}
		if client.OneShot(name, pid) {
			return nil, nil
		}
		s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Client: name, Getenv: r.Getenv, PID: pid})
		if errors.Is(err, sessions.ErrNoSession) || errors.Is(err, sessions.ErrAmbiguous) || err == nil && s.Process != pid {
			return nil, nil
		}
		return []sessions.Session{s}, err
	}
	return scope, ok
}

// Terminal returns the scope of a terminal of ours in which a client runs as process pid. The
// argument bell types a ring into the terminal; joins means that bell can also do this while a turn
// runs.
func Terminal(pid int, bell wake.Doorbell, joins bool) Scope {
	return Scope{
		lockPerRing: true, bell: true, process: pid,
		sessions: func(ctx context.Context, _ *Ringer, b *broker.Broker) ([]sessions.Session, error) {
			open := openIn(pid)
			all, err := choose(ctx, b, func(s sessions.Session) bool { return isOpen(open, s) || callers.DescendsFrom(b.Registry, s, pid) })
			return slices.DeleteFunc(slices.Clone(all), func(s sessions.Session) bool { return !isOpen(open, s) && isNested(b, all, s) }), err
		},
		ways: func(p wake.RingContext, s wake.Session) (wake.Ways, error) {
			w := wake.Ways{Methods: []wake.Method{{Name: wake.ByTerminal, Doorbell: bellInTerminal{bell, p.Served}, Joins: joins}}}
			if s.Process == 0 {
				return w, nil
			}
			c, _ := wake.FindClient(s.Client)
			theirs, err := c.Ways(p, s)
			w.Busy = theirs.Busy
			return w, err
		},
	}
}

// Begun returns the scope of the session that c2c start has begun in the daemon of the client
// called name; id is the client's id of the session. The session is not below the terminal that
// shows it, so only the client's own protocol reaches it. This is for a client in which c2c is not
// installed: otherwise its hooks would bring the same mail.
func Begun(name, id string) Scope {
	return Scope{
		process: os.Getpid(),
		sessions: func(ctx context.Context, _ *Ringer, b *broker.Broker) ([]sessions.Session, error) {
			return choose(ctx, b, func(s sessions.Session) bool { return s.Client == name && s.ClientID() == id })
		},
		ways: func(p wake.RingContext, s wake.Session) (wake.Ways, error) {
			c, _ := wake.FindClient(name)
			return c.Ways(p, s)
		},
	}
}

// bellInTerminal types a ring whose text depends on whether the client has our tools. A client in
// which no server of ours runs has no such tools.
type bellInTerminal struct {
	wake.Doorbell
	served func() bool
}

func (d bellInTerminal) Ring(ctx context.Context, n wake.Notice) error {
	n.NoTool = !d.served()
	return d.Doorbell.Ring(ctx, n)
}

// isNested reports whether a session runs in the shell of another session. Then the terminal may
// show the prompt of the outer session.
func isNested(b *broker.Broker, all []sessions.Session, s sessions.Session) bool {
	return slices.ContainsFunc(all, func(outer sessions.Session) bool {
		return outer.Process != 0 && outer.Process != s.Process && callers.DescendsFrom(b.Registry, s, outer.Process)
	})
}

// Plugin returns the scope of our plugin inside the client called name. The plugin reports the
// client's sessions and takes their mail. The argument started is the id of the session that the
// command "c2c start" has made for the client, or empty.
func Plugin(name, started string, link *plugin.Link) Scope {
	return Scope{
		sessions: func(ctx context.Context, _ *Ringer, b *broker.Broker) ([]sessions.Session, error) {
			return choose(ctx, b, func(s sessions.Session) bool {
				id := s.ClientID()
				return s.Client == name && (id != "" && link.Knows(id) || s.ID == started && s.Started)
			})
		},
		changed: link.Moved(),
		ways: func(_ wake.RingContext, s wake.Session) (wake.Ways, error) {
			// Check before the plugin gets the mail: the client keeps mail that it has taken, even
			// if its user changes to another session.
			ready := func(ctx context.Context) error {
				if !link.Knows(s.ID) {
					if err := link.Begin(ctx, s.ID); err != nil {
						return err
					}
				}
				if !s.Unattended && !link.Shows(s.ID) {
					return wake.ErrAway
				}
				return nil
			}
			return wake.Ways{Follow: link.Follow(s.ID), By: wake.ByPlugin, Methods: []wake.Method{{Name: wake.ByPlugin, Carrier: link.Carrier(s.ID), Idempotent: true, Ready: ready}}}, nil
		},
	}
}

// Agent returns the scope of a program that c2c has started for the session sid. The method m
// carries the mail to the program.
func Agent(sid string, m wake.Method) Scope {
	return Scope{
		sessions: func(ctx context.Context, _ *Ringer, b *broker.Broker) ([]sessions.Session, error) {
			s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: sid})
			if errors.Is(err, sessions.ErrNoSession) {
				return nil, nil
			}
			// Return only the id: while a message is on its way, the process may change, and the
			// session still stays the same.
			return []sessions.Session{{ID: s.ID}}, err
		},
		ways: func(wake.RingContext, wake.Session) (wake.Ways, error) {
			return wake.Ways{Methods: []wake.Method{m}}, nil
		},
	}
}

// Streams returns the scope of the sessions whose clients have a stream of events open at this
// process. The function list returns a bell for each of these sessions, by session id. The channel
// changed signals that the result of list may have changed.
func Streams(list func() map[string]wake.Doorbell, changed <-chan struct{}) Scope {
	return Scope{
		bells: list, changed: changed,
		sessions: func(ctx context.Context, _ *Ringer, b *broker.Broker) (all []sessions.Session, err error) {
			sessionList, err := b.Sessions(ctx)
			for _, s := range sessionList {
				all = append(all, sessions.Session{ID: s.ID, Client: s.Client}) // leave out the facts that may change during a ring
			}
			return all, err
		},
		ways: func(_ wake.RingContext, s wake.Session) (wake.Ways, error) {
			return wake.Ways{Methods: []wake.Method{{Name: wake.ByStream, Doorbell: s.Bell}}}, nil
		},
	}
}

// forwardChanges wakes the waiter of changes at each signal of s.changed, until stop is called.
func (s Scope) forwardChanges(ctx context.Context, changes *watch.Changes) (stop func()) {
	if s.changed == nil {
		return func() {}
	}
	return background(ctx, func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.changed:
				changes.Recheck()
			}
		}
	})
}

// ByDaemon returns the scope of the wake daemon, which rings the sessions that c2c can reach
// without a server in their client.
func ByDaemon() Scope {
	return Scope{
		lockPerRing: true,
		sessions: func(ctx context.Context, _ *Ringer, b *broker.Broker) ([]sessions.Session, error) {
			return choose(ctx, b, DaemonMayRing)
		},
		ways: func(p wake.RingContext, s wake.Session) (w wake.Ways, err error) {
			c, _ := wake.FindClient(s.Client)
			if w, err = c.Ways(p, s); err != nil || s.Pane == "" {
				return w, err
			}
			pane, err := terminal.ParsePane(s.Pane)
			if err != nil {
				return w, err
			}
			if s.Process == 0 {
				return w, fmt.Errorf("%w: its process is gone, so c2c does not know which pane shows the session", wake.ErrUnreachable)
			}
			bell := &terminal.PaneDoorbell{Pane: pane, Client: s.Client, Process: s.Process, Getenv: p.Getenv}
			w.Methods = append(w.Methods, wake.Method{Name: wake.ByTerminal, Doorbell: bell})
			return w, nil
		},
	}
}

// DaemonMayRing reports whether the wake daemon may ring a session.
func DaemonMayRing(s sessions.Session) bool {
	c, _ := wake.FindClient(s.Client)
	return s.Pane != "" || c.NeedsNoServer && len(s.ClientIDs) > 0
}

// openIn returns the sessions that a process has open, by the client's own ids. The process may
// belong to any client.
func openIn(pid int) map[string]bool {
	open := map[string]bool{}
	for _, p := range client.All() {
		if p.Open != nil {
			ids, _ := p.Open(pid)
			maps.Copy(open, ids)
		}
	}
	return open
}

// isOpen reports whether the session is among those that a process has open.
func isOpen(open map[string]bool, s sessions.Session) bool {
	id := s.ClientID()
	return id != "" && open[id]
}

func choose(ctx context.Context, b *broker.Broker, want func(sessions.Session) bool) (chosen []sessions.Session, err error) {
	all, err := b.Sessions(ctx)
	for _, s := range all {
		if want(s) {
			chosen = append(chosen, s)
		}
	}
	return chosen, err
}
