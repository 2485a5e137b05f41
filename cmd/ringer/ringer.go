// Package ringer rings the idle sessions of a root when mail waits for them: it makes their clients
// look at the mail. A root is the directory with the mail of one project. A ringer is part of a
// process, such as an MCP server, the terminal around a client, or the wake daemon, and ends with
// this process. The package takes the facts about sessions from the broker, and the ways to reach
// the sessions from package wake and the packages below wake.
//
// Only one process at a time may ring a session: the process that holds the lock file <session
// id>.wake.lock.
package ringer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/daemon"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/watch"
)

// The first and the longest pause between two checks whether a missing root exists by now.
const (
	rootLook     = time.Second
	rootLookMost = 30 * time.Second
)

// errRootGone means that the root was removed or replaced while the ringer worked.
var errRootGone = errors.New("root was replaced")

// Ringer rings sessions of a root from this process.
type Ringer struct {
	// Root returns the path of the root. The ringer opens the root only when it exists, because
	// clients start throw-away copies of their servers, and such a copy must leave no trace.
	Root func() (string, error)
	// Scope chooses the sessions to ring, and the ways to reach them.
	Scope  Scope
	Getenv func(string) string
	// Hooked reports whether our hooks have run in the session that the client calls clientID; nil:
	// not known.
	Hooked func(clientID string) bool
	Gap    time.Duration // the shortest time between two rings for a message, doubled after each ring; zero: the default of wake/watch
	// Counted, if set, is called for messages to a session with a stream: with their outcome (see
	// wake.Ring) and their number.
	Counted func(outcome string, messages int)
	Log     *slog.Logger
}

// Start rings until stop is called.
func (r *Ringer) Start(ctx context.Context) (stop func()) { return r.start(ctx, "ring", r.ring) }

// start calls the function work in a goroutine until stop is called. When work returns, for example
// because the root was replaced, start calls it again after a pause. The argument name is the name
// of the work in the log.
func (r *Ringer) start(ctx context.Context, name string, work func(context.Context) error) (stop func()) {
	return background(ctx, func(ctx context.Context) { r.run(ctx, name, work) })
}

// background calls the function work in a goroutine. The function stop ends the context of work,
// and waits until work has returned.
func background(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	return func() { cancel(); <-done }
}

func (r *Ringer) run(ctx context.Context, name string, work func(context.Context) error) {
	wait := rootLook
	for ctx.Err() == nil {
		if err := daemon.Survive(r.Log, name, func() error { return work(ctx) }); err == nil || errors.Is(err, errRootGone) {
			wait = rootLook
		} else {
			r.Log.Debug("the root is not ready yet", "work", name, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, rootLookMost)
		}
	}
}

// ring rings until ctx ends or the root is gone.
func (r *Ringer) ring(ctx context.Context) error {
	b, err := r.open()
	if err != nil {
		return err
	}
	defer b.Close()
	registry, err := b.Locks.Watchable(sessions.RegistryLock)
	if err != nil {
		return err
	}
	changes := watch.NewChanges()
	defer changes.Close()
	defer r.Scope.forwardChanges(ctx, changes)()
	w := &watchers{Ringer: r, b: b, changes: changes, running: map[wake.Session]*running{}}
	defer w.stop(nil)
	defer r.checkDeadlines(ctx, b, changes)()
	return changes.Until(ctx, registry, func() (bool, error) { return false, w.update(ctx) })
}

func (r *Ringer) sessions(ctx context.Context, b *broker.Broker) (all []wake.Session, err error) {
	if b.Replaced() {
		return nil, errRootGone
	}
	var bells map[string]wake.Doorbell
	if r.Scope.bells != nil {
		bells = r.Scope.bells()
	}
	list, err := r.Scope.sessions(ctx, r, b)
	for _, s := range list {
		one := r.session(s)
		if one.Bell = bells[s.ID]; one.Bell != nil || r.Scope.bells == nil {
			all = append(all, one)
		}
	}
	return all, err
}

// session returns the facts that package wake needs about a session. The field Process is 0 if c2c
// does not know the client's process.
func (r *Ringer) session(s sessions.Session) wake.Session {
	out := wake.Session{SID: s.ID, Client: s.Client, Process: s.Process, Pane: s.Pane, Unattended: s.Unattended}
	if p, _ := client.Find(s.Client); !r.Scope.byProcess || p.Shared(s.Process, r.Getenv) {
		out.ID = s.ClientID()
	}
	out.Hooked = r.Hooked != nil && slices.ContainsFunc(s.ClientIDs, r.Hooked)
	return out
}

// config returns the directory of a client's configuration, or "" for a client without a profile.
func (r *Ringer) config(name string) (dir string) {
	if profile, ok := client.Find(name); ok {
		dir, _ = profile.Config(r.Getenv)
	}
	return dir
}

// turn makes a function that records a session as busy before a ring, because no hook reports a
// turn that a ring begins. If the client did not take the ring, a second call with false restores
// the earlier state.
func turn(b *broker.Broker, now func() (sessions.Session, error)) func(context.Context, bool) error {
	before := sessions.Idle
	return func(ctx context.Context, runs bool) error {
		current, err := now()
		if err != nil {
			return err
		}
		does := before
		if before = current.Turn; runs {
			does = sessions.Busy
		}
		return b.SetTurn(ctx, current, does, sessions.ByRing)
	}
}

// watcher makes a session's watcher, and a function that records the states of the session, such as
// busy, as the client reports them. The function is nil if the client does not report states.
func (r *Ringer) watcher(ctx context.Context, b *broker.Broker, s wake.Session) (*watch.Watcher, func(context.Context), error) {
	box, err := b.Mailbox(s.SID)
	if err != nil {
		return nil, nil, err
	}
	lock, err := b.Locks.Watchable(box.LockName())
	if err != nil {
		return nil, nil, err
	}
	p := wake.RingContext{Getenv: r.Getenv, Config: r.config(s.Client), Box: box, Served: func() bool { return b.Locks.HasServer(s.SID) },
		Failed: func() (string, time.Time) { return sessions.ModelFailure(b.Registry, s.SID) }}
	p.Record = func(ctx context.Context, ring wake.Ring) {
		err := b.Rang(ctx, s.SID, ring)
		if ring.Began {
			err = errors.Join(err, sessions.SawAnswerSince(b.Registry, s.SID, ring.At))
		}
		if err != nil {
			r.Log.Warn("ring is not recorded", "session", s.SID, "err", err)
		}
	}
	ways, err := r.Scope.ways(p, s)
	if err != nil {
		return nil, nil, err
	}
	now := func() (sessions.Session, error) {
		return callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: s.SID})
	}
	w := &watch.Watcher{
		Box: box, Lock: lock, Methods: ways.Methods, Busy: ways.Busy, Now: time.Now, Gap: r.Gap,
		Quiet: func() bool {
			current, err := now()
			return err == nil && (current.Quiet || sessions.Uninstalled(r.Getenv, current.Client, cmp.Or(current.Process, r.Scope.process)))
		},
		Record: p.Record,
	}
	if r.Scope.bells == nil { // c2c does not know whether a ring on a stream begins a turn
		w.Turn = turn(b, now)
	}
	w.Report = r.reported(b, s.SID)
	if w.Busy == nil { // wait while hooks report a turn, because they bring the mail; a turn that a plugin reports does not count
		w.Busy = func(context.Context) bool {
			current, err := now()
			return err == nil && current.ToldByHooks() && (current.Turn == sessions.Busy || current.Turn == sessions.Waiting)
		}
	}
	if r.Scope.lockPerRing {
		w.Borrow = r.borrow(b, s, now)
	}
	return w, r.follower(b, s, ways), nil
}

// borrow makes a function that takes the session's ring lock for a single ring.
func (r *Ringer) borrow(b *broker.Broker, s wake.Session, now func() (sessions.Session, error)) func() (func() error, bool, error) {
	return func() (func() error, bool, error) {
		release, ok, err := b.Locks.BorrowRinging(s.SID)
		if err != nil || !ok {
			return nil, false, err
		}
		// Check the session again now that we hold the lock: its user may have forbidden the ring
		// meanwhile.
		if current, err := now(); err != nil || r.session(current) != s {
			return nil, false, errors.Join(err, release())
		}
		return release, true, nil
	}
}

// reported makes a function that records the outcome of a ring for the waiting messages of a
// session.
func (r *Ringer) reported(b *broker.Broker, sid string) func(context.Context, []mail.Message, wake.Ring) {
	return func(ctx context.Context, msgs []mail.Message, ring wake.Ring) {
		if r.Scope.bells != nil {
			b.Events.Doorbell(ctx, sid, msgs, ring)
			if r.Counted != nil {
				r.Counted(ring.Outcome, len(msgs))
			}
		}
		if err := owed.CountRing(ctx, b.Registry, sid, msgs, ring); err != nil {
			r.Log.Warn("a ring was not counted for obligations", "session", sid, "err", err)
		}
	}
}

// follower makes a function that records a session's state as its client reports it.
func (r *Ringer) follower(b *broker.Broker, s wake.Session, ways wake.Ways) func(context.Context) {
	if ways.Follow == nil {
		return nil
	}
	return func(ctx context.Context) {
		ways.Follow(ctx, func(does string) {
			current, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: s.SID})
			if err == nil {
				err = b.SetTurn(ctx, current, sessions.State(does), ways.By)
			}
			if err != nil && ctx.Err() == nil {
				r.Log.Debug("a session's state was not recorded", "session", s.SID, "err", err)
			}
		})
	}
}
