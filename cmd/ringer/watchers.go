package ringer

import (
	"context"
	"errors"
	"maps"
	"slices"

	"c2c/broker"
	"c2c/internal/daemon"
	"c2c/sessions"
	"c2c/wake"
	"c2c/wake/watch"
)

// watchers runs a goroutine for each session to ring. The key of running is the wake.Session with
// all its facts: when one of these facts changes, the old watcher ends and a new watcher starts.
type watchers struct {
	*Ringer
	b       *broker.Broker
	changes *watch.Changes
	running map[wake.Session]*running
}

type running struct {
	stop    context.CancelFunc
	done    chan struct{}
	watcher *watch.Watcher // nil until this process may ring the session; read the field only after done is closed
}

// update starts and stops watchers, so that each session to ring has one.
func (w *watchers) update(ctx context.Context) error {
	sessions, err := w.sessions(ctx, w.b)
	if err != nil {
		return err
	}
	before := maps.Clone(w.running)
	w.stop(sessions)
	for _, s := range sessions {
		if w.running[s] == nil {
			w.running[s] = w.start(ctx, s, former(before, s))
		}
	}
	return nil
}

// former returns the watcher of the session's last conversation, or nil. A ring of that watcher may
// have begun the new conversation.
func former(before map[wake.Session]*running, s wake.Session) *running {
	for old, r := range before {
		id := old.ID
		if old.ID = s.ID; old == s && id != s.ID {
			return r
		}
	}
	return nil
}

// stop stops the watcher of each session that is not in keep. It also forgets each watcher that has
// ended, so that update starts another.
func (w *watchers) stop(keep []wake.Session) {
	for s, r := range w.running {
		select {
		case <-r.done:
		default:
			if slices.Contains(keep, s) {
				continue
			}
		}
		r.stop()
		<-r.done
		delete(w.running, s)
	}
}

// start watches a session. The argument before is the session's previous watcher, which has ended;
// nil: there was none.
func (w *watchers) start(ctx context.Context, s wake.Session, before *running) *running {
	ctx, stop := context.WithCancel(ctx)
	r := &running{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		var err error
		daemon.SurviveLoop(ctx, w.Log, "watch a session", func() { err = w.watch(ctx, s, r, before) })
		if errors.Is(err, wake.ErrUnreachable) {
			w.Log.Debug("this process cannot reach the session", "session", s.SID)
		} else if err != nil && ctx.Err() == nil {
			w.Log.Warn("session is not watched", "session", s.SID, "err", err)
		}
	}()
	return r
}

// watch waits for the right to ring, and then rings the session until ctx ends.
func (w *watchers) watch(ctx context.Context, s wake.Session, r, before *running) error {
	if !w.Scope.lockPerRing {
		lock, err := w.b.Locks.Ringing(s.SID)
		if err != nil {
			return err
		}
		defer lock.Release()
		// Try again and again: nothing can stop a thread that waits in the kernel for the lock.
		if err := w.changes.Until(ctx, lock.Path(), lock.Try); err != nil {
			return err
		}
	}
	watcher, follow, err := w.watcher(ctx, w.b, s)
	if err != nil {
		return err
	}
	if w.Scope.bell && s.Process != 0 {
		defer w.recordBell(ctx, s)()
	}
	if follow != nil && !w.Scope.lockPerRing {
		defer background(ctx, func(ctx context.Context) {
			daemon.SurviveLoop(ctx, w.Log, "follow what a session does", func() { follow(ctx) })
		})()
	}
	if before != nil && before.watcher != nil {
		watcher.Continue(before.watcher)
	}
	r.watcher = watcher
	return watcher.Run(ctx, w.changes)
}

// recordBell records that this process rings the session. The function remove removes the record;
// if this process is killed instead, others see that no process with this id and start time runs.
// The terminal of c2c start lives longer than the MCP server of the client in it. So the terminal
// overwrites the server's entry, and a server overwrites no entry.
func (w *watchers) recordBell(ctx context.Context, s wake.Session) (remove func()) {
	change := func(ctx context.Context, edit func(*sessions.Facts)) {
		if err := w.b.Facts.Change(ctx, s.SID, edit); err != nil {
			w.Log.Debug("senders are not told whether the session is rung", "session", s.SID, "err", err)
		}
	}
	self, err := w.b.Processes.Find(w.b.Processes.Self())
	if err != nil { // a sandbox hides this process
		return func() {}
	}
	// A suspended process may hold the lock of the facts for days. It must stop neither the rings
	// nor the end of this process.
	stop := background(ctx, func(ctx context.Context) {
		change(ctx, func(f *sessions.Facts) {
			if f.PID == s.Process && (w.Scope.lockPerRing || f.RingerPID == 0) {
				f.RingerPID, f.RingerStart = self.PID, self.Start
			}
		})
	})
	return func() {
		stop()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessions.KeepWait)
		defer cancel()
		change(ctx, func(f *sessions.Facts) {
			if f.RingerPID == self.PID && f.RingerStart == self.Start {
				f.RingerPID, f.RingerStart = 0, 0
			}
		})
	}
}
