package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/internal/atomicfile"
	"c2c/wake/watch"
)

// Work says what the daemon does.
type Work struct {
	Log            *slog.Logger
	Version, Build string
	// Needed reports whether there still is what a part is for. If not, the daemon switches it off.
	Needed func(part, how string) bool
	// Run runs a part until ctx ends. It calls report when the part does its work, and whenever what it
	// says of itself has changed. If Run returns earlier, or panics, the daemon calls it again after a
	// pause.
	Run func(ctx context.Context, part, how string, report func(about any)) error
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

// tellAgain is the pause after running.json could not be written.
const tellAgain = 5 * time.Second

var (
	errIdle  = errors.New("no part is on")
	errEnded = errors.New("it has ended, although it was not stopped")
)

// Work makes this process the daemon, with only the safe variables of its environment. It returns
// when ctx ends, when a command stops the daemon, or when no part is on.
func (d Daemon) Work(ctx context.Context, w Work) error {
	return d.Process.Run(ctx, func(ctx context.Context) error {
		env := SafeEnv(os.Environ()) // a person may have run the daemon in front
		os.Clearenv()
		for _, v := range env {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
		h := &host{Daemon: d, Work: w, parts: map[string]*active{}, changes: watch.NewChanges(), about: Running{PID: os.Getpid(),
			Version: w.Version, Build: w.Build, Namespace: Namespace(), Started: time.Now().UTC().Truncate(time.Second)}}
		defer h.changes.Close()
		h.changes.Each(ctx, 0, func() ([]string, time.Duration, error) {
			wait, err := h.look(ctx)
			return []string{filepath.Join(d.Dir.Path(), partsLock)}, wait, err
		})
		h.mu.Lock()
		for _, a := range h.parts {
			a.end()
		}
		h.mu.Unlock()
		h.running.Wait()
		return atomicfile.UnlessAbsent(d.Dir.Remove(runningFile))
	})
}

// look begins and ends parts, so that those run that are on. It returns errIdle if none is, and when
// to look again if what runs could not be recorded.
func (h *host) look(ctx context.Context) (again time.Duration, err error) {
	s, err := h.Switches()
	unneeded := func(one Switch) bool { return !one.Stopped && !h.Needed(one.Part, one.How) }
	if err == nil && slices.ContainsFunc(s, unneeded) {
		err = h.change(ctx, func(all Switches) (Switches, error) {
			s = slices.DeleteFunc(all, unneeded)
			return s, nil
		})
	}
	if err != nil {
		h.Log.Error("what is switched on cannot be read or changed", "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, a := range h.parts {
		if err == nil && (s.Stopped(name) || s.Of(name).Run != a.Run) {
			a.State = Ending
			a.end()
		}
	}
	for _, one := range s.On() {
		if h.parts[one.Part] == nil && !s.Stopped(Whole) {
			h.begin(ctx, one)
		}
	}
	if !h.tell() {
		again = tellAgain
	}
	if len(h.parts) == 0 {
		h.Log.Info("no part is on, so the daemon ends")
		return 0, errIdle
	}
	return again, nil
}

// begin runs a part, again and again, until it is ended. The caller holds mu.
func (h *host) begin(ctx context.Context, part Switch) {
	ctx, end := context.WithCancel(ctx)
	a := &active{Active{State: Starting, Run: part.Run}, end}
	h.parts[part.Part] = a
	h.running.Go(func() {
		defer h.changes.Recheck()
		repeat(ctx, func() error {
			h.set(a, Starting, "", nil)
			err := Survive(h.Log, part.Part, func() error { return h.Run(ctx, part.Part, part.How, func(about any) { h.set(a, Runs, "", about) }) })
			if ctx.Err() != nil && err != nil {
				h.Log.Warn("a part did not end cleanly", "part", part.Part, "err", err)
			}
			return cmp.Or(err, errEnded)
		}, func(err error) {
			h.Log.Error("a part has failed, and begins again", "part", part.Part, "err", err)
			h.set(a, Failed, err.Error(), nil)
		})
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.parts, part.Part)
	})
}

func (h *host) set(a *active, to State, why string, about any) {
	text, err := json.Marshal(about)
	if err != nil {
		h.Log.Warn("what a part does was not recorded", "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.State == Ending {
		return
	}
	if a.Error, a.About = why, text; a.State != to {
		a.State, a.Since = to, time.Now().UTC()
	}
	if !h.tell() {
		h.changes.Recheck() // look tries again: a start waits for the record
	}
}

// tell writes what the daemon does. It returns false if that failed. The caller holds mu.
func (h *host) tell() bool {
	h.about.Parts = map[string]Active{}
	for name, a := range h.parts {
		h.about.Parts[name] = a.Active
	}
	text, err := json.MarshalIndent(h.about, "", " ")
	if err == nil && !bytes.Equal(text, h.told) {
		if err = h.Dir.WriteUnsynced(runningFile, append(text, '\n')); err == nil {
			h.told = text
		}
	}
	if err != nil {
		h.Log.Warn("what the daemon does was not recorded", "err", err)
	}
	return err == nil
}
