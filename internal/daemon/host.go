package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"c2c/internal/atomicfile"
	"c2c/wake/watch"
)

// Work says what the daemon does.
type Work struct {
	Log            *slog.Logger
	Version, Build string
	// Begin, if set, is called before the first part begins, when no other daemon runs.
	Begin func()
	// Needed reports whether there still is what a part is for. If not, the daemon switches it off.
	Needed func(name string, r Record) bool
	// Run runs a part until ctx ends. It calls ready when the part does its work. If Run returns
	// earlier, or panics, the daemon calls it again after a pause.
	Run func(ctx context.Context, name string, r Record, ready func()) error
	// Explain makes the text for people of an error of Run.
	Explain func(error) string
}

// host is the running daemon.
type host struct {
	Daemon
	Work
	changes *watch.Changes
	running sync.WaitGroup

	mu    sync.Mutex
	about Running
	told  []byte // what running.json has
	parts map[string]*active
}

type active struct {
	Active
	end context.CancelFunc
}

var (
	errIdle  = errors.New("no part is on")
	errEnded = errors.New("it has ended, although it was not stopped")
)

// Work makes this process the daemon. It returns when ctx ends, when a command stops the daemon, or
// when no part is on.
func (d Daemon) Work(ctx context.Context, w Work) error {
	h := &host{Daemon: d, Work: w, parts: map[string]*active{},
		about: Running{Version: w.Version, Build: w.Build, Namespace: Namespace(), Started: time.Now().UTC().Truncate(time.Second)}}
	d.Prepare = func() error {
		if err := atomicfile.UnlessAbsent(d.Dir.Remove(runningFile)); err != nil { // of a daemon that was killed
			return err
		}
		if w.Begin != nil {
			w.Begin()
		}
		return d.change(ctx, func(*Switches) {}) // makes the lock file, so that it can be watched
	}
	return d.Process.Run(ctx, func(ctx context.Context) {
		h.changes = watch.NewChanges()
		defer h.changes.Close()
		h.changes.Each(ctx, 0, func() ([]string, time.Duration, error) {
			return []string{filepath.Join(d.Dir.Path(), partsLock)}, 0, h.look(ctx)
		})
		h.mu.Lock()
		for _, a := range h.parts {
			a.end()
		}
		h.mu.Unlock()
		h.running.Wait()
	})
}

// look begins and ends parts, so that those run that are on. It returns errIdle if none is.
func (h *host) look(ctx context.Context) error {
	s, err := h.Switches()
	if err != nil {
		h.Log.Error("what is switched on cannot be read", "err", err)
	}
	wanted := map[string]Record{}
	for _, name := range s.On() {
		if r := s.Parts[name]; h.Needed(name, r) && !s.Stopped {
			wanted[name] = r
		} else if !s.Stopped {
			h.forget(ctx, name, r)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, a := range h.parts {
		if wanted[name].Run != a.Run && err == nil {
			a.State = Ending
			a.end()
		}
	}
	for name, r := range wanted {
		if h.parts[name] == nil {
			h.begin(ctx, name, r)
		}
	}
	h.tell()
	if len(h.parts) == 0 {
		h.Log.Info("no part is on, so the daemon ends")
		return errIdle
	}
	return nil
}

// forget switches a part off that nothing needs, unless it was switched on anew.
func (h *host) forget(ctx context.Context, name string, r Record) {
	err := h.change(ctx, func(s *Switches) {
		if s.Parts[name].Run == r.Run {
			delete(s.Parts, name)
		}
	})
	if err != nil {
		h.Log.Warn("a part that nothing needs was not switched off", "part", name, "err", err)
	}
}

// begin runs a part until it is ended. The caller holds mu.
func (h *host) begin(ctx context.Context, name string, r Record) {
	ctx, end := context.WithCancel(ctx)
	a := &active{Active{Run: r.Run}, end}
	h.parts[name] = a
	h.running.Go(func() {
		defer h.changes.Recheck()
		h.repeat(ctx, name, r, a)
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.parts, name)
	})
}

// repeat runs a part again and again until ctx ends. Each pause is twice as long as the one before,
// up to longPause; after a run that was longer than that, it is short again.
func (h *host) repeat(ctx context.Context, name string, r Record, a *active) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		began := time.Now()
		h.set(a, Starting, "")
		err := Survive(h.Log, name, func() error { return h.Run(ctx, name, r, func() { h.set(a, Runs, "") }) })
		if ctx.Err() != nil {
			if err != nil {
				h.Log.Warn("a part did not end cleanly", "part", name, "err", err)
			}
			return
		}
		if err == nil {
			err = errEnded
		}
		h.Log.Error("a part has failed, and begins again", "part", name, "err", err)
		h.set(a, Failed, h.Explain(err))
		if time.Since(began) > longPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (h *host) set(a *active, to State, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.State != Ending {
		a.State, a.Since, a.Error = to, time.Now().UTC(), why
		h.tell()
	}
}

// tell writes what the daemon does. The caller holds mu.
func (h *host) tell() {
	h.about.Parts = map[string]Active{}
	for name, a := range h.parts {
		h.about.Parts[name] = a.Active
	}
	text, err := json.MarshalIndent(h.about, "", " ")
	if err == nil && !bytes.Equal(text, h.told) {
		h.told, err = text, h.Dir.WriteUnsynced(runningFile, append(text, '\n'))
	}
	if err != nil {
		h.Log.Warn("what the daemon does was not recorded", "err", err)
	}
}
