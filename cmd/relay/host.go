package relay

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"c2c/internal/daemon"
	"c2c/project"
	"c2c/relay"
	"c2c/wake/watch"
)

type clock = func() time.Time

// lookGap is the shortest time between two checks for changes, so that one check serves all senders
// that write at about the same time.
const lookGap = time.Millisecond

// Host is the running relay.
type Host struct {
	*Relay
	Getenv func(string) string
	SSH    string // the path of ssh; "": ssh in the PATH
	Log    *slog.Logger
	Now    clock

	list    *relay.HostList
	peers   relay.Peers
	carrier *carriers
	roots   *roots
	changes *watch.Changes
}

// RunPart runs the relay until ctx ends, as a part of the daemon.
func RunPart(ctx context.Context, getenv func(string) string, log *slog.Logger, report func(any)) error {
	r, err := Open(getenv, true)
	if err != nil {
		return err
	}
	defer r.Close()
	h := &Host{Relay: r, Getenv: getenv, Log: log, Now: time.Now}
	return h.Run(ctx, report)
}

// Run carries mail until ctx ends. It calls report with the state of the links when other machines
// can connect, and whenever it has changed. Only one process may do this.
func (h *Host) Run(ctx context.Context, report func(any)) error {
	key, err := relay.LoadKey(ctx, h.Dir)
	if err != nil {
		return err
	}
	h.list = h.Hosts(h.Now)
	if _, err := h.list.All(); err != nil {
		return err
	}
	h.peers = relay.Peers{Key: key, List: h.list}
	changed := make(chan struct{}, 1)
	for _, name := range []string{wantedFile, filepath.Base(h.list.Changed())} {
		err = errors.Join(err, touch(h.Dir, name))
	}
	if err != nil {
		return err
	}
	h.carrier = &carriers{list: h.list, ways: map[string]carrier{}, log: h.Log}
	for name, kind := range kinds {
		way, err := kind.open(h, func() { poke(changed) })
		if err != nil {
			return err
		}
		if way != nil {
			h.carrier.ways[name] = way
		}
	}
	h.Log.Info("relay runs", "process", os.Getpid(), "key", key.Public().Fingerprint())
	h.roots = &roots{h: h, open: map[string]*root{}, up: map[string]bool{}, failed: map[string]string{}, alone: map[string]time.Time{}}
	h.changes = watch.NewChanges()
	defer h.changes.Close()
	report(h.carrier.Status())
	err = daemon.Together(ctx, h.Log, "carry mail between machines",
		func(ctx context.Context) { h.carrier.Run(ctx, h.roots) },
		func(ctx context.Context) { h.keepLinks(ctx, changed, report) },
		h.watch)
	h.roots.closeAll()
	h.Log.Info("relay ends")
	return err
}

// watch checks the list, the roots and their outboxes, now and whenever one of them changes.
func (h *Host) watch(ctx context.Context) {
	var last []relay.Host
	h.changes.Each(ctx, lookGap, func() ([]string, time.Duration, error) {
		list, err := h.list.All()
		if err == nil && !reflect.DeepEqual(list, last) {
			h.carrier.reload()
			h.roots.retell()
			last = list
		}
		files, again := h.roots.look(ctx, list, err == nil)
		return append(files, filepath.Join(h.Dir.Path(), wantedFile), h.list.Changed()), again, nil
	})
}

// keepLinks reports the state of the links when it changes, for c2c relay status.
func (h *Host) keepLinks(ctx context.Context, changed <-chan struct{}, report func(any)) {
	for {
		report(h.carrier.Status())
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// rootsHere returns all roots of this user.
func (h *Host) rootsHere() []project.Root {
	all, err := h.rootsOf(h.list)
	if err != nil {
		h.Log.Error("named projects are left out", "err", err)
	}
	return all
}

// rootsOf returns the roots below the state directory, and the roots of named projects. After an
// error it returns those that it could read.
func (r *Relay) rootsOf(list *relay.HostList) (all []project.Root, err error) {
	named, err := list.Projects()
	names := map[string]string{}
	for _, p := range named {
		names[p.Root] = p.Name
		all = append(all, project.Root{Path: p.Root, Name: p.Name})
	}
	below, berr := project.RootsIn(r.State)
	for _, root := range below {
		if names[root.Path] == "" && root.Name != "" {
			all = append(all, root)
		}
	}
	return all, errors.Join(err, berr)
}
