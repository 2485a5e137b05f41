package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"c2c/inbox/filelock"
	"c2c/wake"
)

// Keeper runs a Watcher for each session that a process may ring.
type Keeper struct {
	// Sessions lists the sessions that should be rung from here now. What has changed about one is another
	// session here: its watcher is made anew. An error ends Run.
	Sessions func(context.Context) ([]wake.Session, error)
	// Watcher makes the watcher of one of them.
	Watcher func(wake.Session) (*Watcher, error)
	// Claim opens the lock that is the right to ring a session: another process may have it, and die. Nil for
	// watchers that borrow it.
	Claim func(sid string) (*filelock.Lock, error)
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

func (k *Keeper) watch(ctx context.Context, s wake.Session, changes *Changes) error {
	if k.Claim != nil {
		lock, err := k.Claim(s.SID)
		if err != nil {
			return err
		}
		defer lock.Release()
		if err := claim(ctx, lock, changes); err != nil {
			return err
		}
	}
	w, err := k.Watcher(s)
	if err != nil {
		return err
	}
	return w.Run(ctx, changes)
}

// claim takes a lock when its holder ends, unless ctx ends before. It does not block in the kernel: nothing ends
// such a wait, and each change of a session would leave one behind, with its thread, for as long as the holder lives.
func claim(ctx context.Context, lock *filelock.Lock, changes *Changes) error {
	sub := changes.Subscribe(lock.Path())
	defer sub.Close()
	tick := time.NewTicker(sub.every)
	defer tick.Stop()
	var unlocked <-chan time.Time
	for {
		if ok, err := lock.Try(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sub.changed:
			unlocked = time.After(givenBack)
		case <-unlocked:
			unlocked = nil
		case <-tick.C:
		}
	}
}
