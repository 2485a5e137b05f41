package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"c2c/wake"
)

// Keeper runs a Watcher for each session that a process may ring.
type Keeper struct {
	// Sessions lists the sessions that should be rung from here now. What has changed about one is another
	// session here: its watcher is made anew. An error ends Run.
	Sessions func(context.Context) ([]wake.Session, error)
	// Watcher makes the watcher of one of them.
	Watcher func(wake.Session) (*Watcher, error)
	// Claim waits for the right to ring a session, until ctx ends: another process may have it, and die. Nil
	// for watchers that borrow it.
	Claim func(ctx context.Context, sid string) (release func() error, err error)
	// Registry is a file whose closing tells that Sessions may have changed.
	Registry string
	Log      *slog.Logger
}

type kept struct {
	stop context.CancelFunc
	done chan struct{}
}

// Run keeps the watchers until ctx ends or Sessions fails.
func (k *Keeper) Run(ctx context.Context) error {
	changes := NewChanges()
	defer changes.Close()
	sub := changes.Subscribe(k.Registry)
	defer sub.Close()
	running := map[wake.Session]*kept{}
	defer func() { k.prune(running, nil) }()
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		sessions, err := k.Sessions(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		k.prune(running, sessions)
		for _, s := range sessions {
			if running[s] == nil {
				running[s] = k.start(ctx, s, changes)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-sub.changed:
		case <-tick.C:
		}
	}
}

// prune stops what is not wanted, and forgets what has ended by itself.
func (k *Keeper) prune(running map[wake.Session]*kept, wanted []wake.Session) {
	for s, r := range running {
		select {
		case <-r.done:
		default:
			if slices.Contains(wanted, s) {
				continue
			}
		}
		r.stop()
		<-r.done
		delete(running, s)
	}
}

func (k *Keeper) start(ctx context.Context, s wake.Session, changes *Changes) *kept {
	ctx, stop := context.WithCancel(ctx)
	r := &kept{stop, make(chan struct{})}
	go func() {
		defer close(r.done)
		err := k.watch(ctx, s, changes)
		if errors.Is(err, wake.ErrUnreachable) {
			k.Log.Debug("session cannot be reached from here", "session", s.SID)
		} else if err != nil && ctx.Err() == nil {
			k.Log.Warn("session is not watched", "session", s.SID, "err", err)
		}
	}()
	return r
}

func (k *Keeper) watch(ctx context.Context, s wake.Session, changes *Changes) (err error) {
	if k.Claim != nil {
		release, cerr := k.Claim(ctx, s.SID)
		if cerr != nil {
			return cerr
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	w, err := k.Watcher(s)
	if err != nil {
		return err
	}
	return w.Run(ctx, changes)
}
