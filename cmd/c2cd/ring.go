package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"c2c/broker"
	"c2c/hooks"
	"c2c/inbox/filelock"
	"c2c/wake"
	"c2c/wake/claude"
)

// rootLook is how often, at the least, a server looks for a root that nobody has made yet.
const (
	rootLook     = time.Second
	rootLookMost = 30 * time.Second
)

// errRootGone ends a keeper whose root was removed or made anew.
var errRootGone = errors.New("root was replaced")

// ringer wakes the session of an MCP server's client for as long as the server lives.
type ringer struct {
	a      *app
	parent int // the client's process
	log    *slog.Logger
}

// run never makes a root: clients start throw-away copies of their servers.
func (r *ringer) run(ctx context.Context) {
	wait := rootLook
	for ctx.Err() == nil {
		if err := r.keep(ctx); err == nil || errors.Is(err, errRootGone) {
			wait = rootLook
		} else {
			r.log.Debug("nobody can be rung yet", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, rootLookMost)
		}
	}
}

// keep rings until ctx ends or the root is gone.
func (r *ringer) keep(ctx context.Context) error {
	root, _, err := broker.FindRoot(r.a.getenv, r.a.cwd)
	if err != nil {
		return err
	}
	was, err := os.Stat(root)
	if err != nil {
		return err
	}
	b, err := broker.Open(broker.Config{Root: root, Log: r.log})
	if err != nil {
		return err
	}
	defer b.Close()
	registry, err := b.Watchable(broker.RegistryLock)
	if err != nil {
		return err
	}
	k := &wake.Keeper{
		Registry: registry, Log: r.log,
		Claim:   func(sid string) (func() error, bool, error) { return claim(b, sid) },
		Watcher: func(sid string) (*wake.Watcher, error) { return r.watcher(ctx, b, sid) },
		Sessions: func(ctx context.Context) ([]string, error) {
			if now, err := os.Stat(root); err != nil || !os.SameFile(was, now) {
				return nil, errRootGone
			}
			return r.sessions(ctx, b)
		},
	}
	return k.Run(ctx)
}

// sessions is the one that lives in our client, if it is known already.
func (r *ringer) sessions(ctx context.Context, b *broker.Broker) ([]string, error) {
	s, err := b.Resolve(ctx, broker.Caller{Client: "claude", Getenv: r.a.getenv, PID: r.parent})
	if errors.Is(err, broker.ErrNoSession) || errors.Is(err, broker.ErrAmbiguous) || err == nil && s.PID != r.parent {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []string{s.ID}, nil
}

// claim takes the right to ring a session, which ends with this process.
func claim(b *broker.Broker, sid string) (release func() error, ok bool, err error) {
	f, err := b.Dir().Open(sid+".wake.lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, false, err
	}
	if ok, err = filelock.TryFile(f); !ok {
		return nil, false, errors.Join(err, f.Close())
	}
	return f.Close, true, nil
}

func (r *ringer) watcher(ctx context.Context, b *broker.Broker, sid string) (*wake.Watcher, error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	lock, err := b.Watchable(box.LockName())
	if err != nil {
		return nil, err
	}
	w := &wake.Watcher{Box: box, Lock: lock, Now: time.Now, Record: func(ctx context.Context, ring wake.Ring) {
		if err := b.Rang(ctx, sid, ringOf(ring)); err != nil {
			r.log.Warn("ring is not recorded", "session", sid, "err", err)
		}
	}}
	socket, err := claude.FromEnv(r.a.getenv, time.Now)
	if err != nil {
		return nil, err
	}
	method := wake.Method{Name: wake.BySocket, Doorbell: socket}
	if r.hooked(ctx, b, sid) {
		method.Courier = &claude.Courier{Socket: socket, Box: box, Root: b.Root()}
	}
	w.Methods = []wake.Method{method}
	config := r.a.claudeConfig()
	w.Busy = func() bool { return claude.StateOf(config, r.parent) == claude.Busy }
	return w, nil
}

// hooked says whether our hooks have run in this session: without them nothing
// would tell that a carried message has arrived.
func (r *ringer) hooked(ctx context.Context, b *broker.Broker, sid string) bool {
	s, err := b.Resolve(ctx, broker.Caller{Explicit: sid})
	if err != nil {
		return false
	}
	for _, id := range s.ClientIDs {
		if path := hooks.PointerPath(r.a.getenv, id); path != "" {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				return true
			}
		}
	}
	return false
}

func (a *app) claudeConfig() string {
	if dir := a.getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(a.getenv("HOME"), ".claude")
}

func ringOf(r wake.Ring) broker.Ring {
	ring := broker.Ring{At: r.At, Method: r.Method, Outcome: r.Outcome, Oldest: r.Oldest, Count: r.Count}
	if r.Err != nil {
		ring.Cause = r.Err.Error()
	}
	return ring
}
