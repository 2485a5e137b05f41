package wake

import (
	"context"
	"log/slog"
	"time"
)

// Keeper runs a Watcher for each session that a process may ring.
type Keeper struct {
	// Sessions lists the ids of the sessions that should be rung from here now. An error ends Run.
	Sessions func(context.Context) ([]string, error)
	// Watcher makes the watcher of one of them.
	Watcher func(sid string) (*Watcher, error)
	// Claim takes the right to ring a session; ok is false while another process has it.
	Claim func(sid string) (release func() error, ok bool, err error)
	// Registry is a file whose closing tells that Sessions may have changed.
	Registry string
	Log      *slog.Logger
}

type kept struct {
	stop    context.CancelFunc
	done    chan struct{}
	release func() error
}

// Run keeps the watchers until ctx ends or Sessions fails.
func (k *Keeper) Run(ctx context.Context) error {
	changes := NewChanges()
	defer changes.Close()
	sub := changes.Subscribe(k.Registry)
	defer sub.Close()
	running := map[string]*kept{}
	defer func() { k.prune(running, nil) }()
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		sids, err := k.Sessions(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		k.prune(running, sids)
		for _, sid := range sids {
			if running[sid] == nil {
				if r := k.start(ctx, sid, changes); r != nil {
					running[sid] = r
				}
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
func (k *Keeper) prune(running map[string]*kept, wanted []string) {
	keep := map[string]bool{}
	for _, sid := range wanted {
		keep[sid] = true
	}
	for sid, r := range running {
		select {
		case <-r.done:
		default:
			if keep[sid] {
				continue
			}
		}
		r.stop()
		<-r.done
		if err := r.release(); err != nil {
			k.Log.Warn("right to ring not given back", "session", sid, "err", err)
		}
		delete(running, sid)
	}
}

// start returns nil when another process rings the session, or when it cannot be watched now.
func (k *Keeper) start(ctx context.Context, sid string, changes *Changes) *kept {
	release, ok, err := k.Claim(sid)
	if err != nil || !ok {
		if err != nil {
			k.Log.Warn("session is not watched", "session", sid, "err", err)
		}
		return nil
	}
	w, err := k.Watcher(sid)
	if err != nil {
		k.Log.Warn("session is not watched", "session", sid, "err", err)
		release()
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	r := &kept{stop, make(chan struct{}), release}
	go func() {
		defer close(r.done)
		if err := w.Run(ctx, changes); err != nil {
			k.Log.Warn("session is not watched any more", "session", sid, "err", err)
		}
	}()
	return r
}
