package serve

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"c2c/broker"
	"c2c/internal/daemon"
	"c2c/serve/live"
	"c2c/sessions/permission"
)

// openRoots holds the open roots.
type openRoots struct {
	open      func(root string) (*broker.Broker, error)
	whileOpen func(context.Context, *broker.Broker) // if set, runs for each open root until the root is closed
	idle      time.Duration
	log       *slog.Logger

	mu      sync.Mutex // held while a root is opened, too
	all     map[string]*usedRoot
	closing sync.WaitGroup
}

// OpenRoot is an open root that several requests share. Callers must not close its parts.
type OpenRoot struct {
	Broker     *broker.Broker
	Live       *live.Hub         // follows the changes in the root, from the first use of Live on
	Permission *permission.Store // the permission requests of the root's sessions
	Requests   *live.RequestList // follows the requests in Permission
}

// usedRoot is an open root, with the number of requests that use it.
type usedRoot struct {
	OpenRoot
	stop    context.CancelFunc // ends the workers
	workers sync.WaitGroup     // the goroutines that run Live, Requests, and whileOpen
	users   int
	timer   *time.Timer // closes the root; runs while no request uses it
}

func newOpenRoots(open func(string) (*broker.Broker, error), idle time.Duration, log *slog.Logger) *openRoots {
	return &openRoots{open: open, idle: idle, log: log, all: map[string]*usedRoot{}}
}

func (p *openRoots) newRoot(b *broker.Broker) *usedRoot {
	ctx, stop := context.WithCancel(context.Background())
	store, log := permission.Open(b.Dir(), time.Now).LogTo(b.Events.WriteTexts), p.log.With("root", b.Root())
	one := &usedRoot{stop: stop, OpenRoot: OpenRoot{Broker: b, Live: live.NewHub(b), Permission: store, Requests: live.NewRequestList(store, log)}}
	work := func(what string, do func()) {
		one.workers.Go(func() { daemon.SurviveLoop(ctx, log, what, do) })
	}
	work("follow permission requests", func() { one.Requests.Follow(ctx) })
	work("follow a root", func() { one.Live.Run(ctx) }) // the hub's followers get the error
	if p.whileOpen != nil {
		work("act on the deadlines of a root", func() { p.whileOpen(ctx, b) })
	}
	return one
}

// close closes a root that no request uses.
func (r *usedRoot) close() {
	r.stop()
	r.workers.Wait()
	r.Broker.Close()
}

// use returns a root that exists on disk, and opens it if necessary. When the caller no longer
// needs the root, it must call the returned function.
func (p *openRoots) use(root string) (*OpenRoot, func(), error) {
	if !filepath.IsAbs(root) {
		return nil, nil, fmt.Errorf("open root %q: the path is not absolute", root)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	one, err := p.find(filepath.Clean(root), func(root string) (*broker.Broker, error) {
		if _, err := os.Stat(root); err != nil {
			return nil, fmt.Errorf("open root: %w", err)
		}
		return p.open(root)
	})
	if err != nil {
		return nil, nil, err
	}
	one.users++
	one.timer.Stop()
	return &one.OpenRoot, sync.OnceFunc(func() { p.done(one) }), nil
}

// keep opens a root, unless it is open, by the function open, and keeps it open for a while.
func (p *openRoots) keep(root string, open func(root string) (*broker.Broker, error)) (opened string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, err := p.find(root, open)
	if err != nil {
		return root, err
	}
	return one.Broker.Root(), nil
}

// find returns an open root, and opens it if necessary. The function open may open another root, if
// the project has just got that. Writes to a directory that was removed or made again would be
// lost, so find drops such a root, and the last request that uses it closes it. The caller holds
// the lock.
func (p *openRoots) find(root string, open func(root string) (*broker.Broker, error)) (*usedRoot, error) {
	for {
		one := p.all[root]
		if one != nil && !one.Broker.Replaced() {
			return one, nil
		}
		if one != nil {
			p.drop(one)
		}
		b, err := open(root)
		if err != nil {
			return nil, err
		}
		if root = b.Root(); p.all[root] != nil {
			b.Close()
			continue
		}
		one = p.newRoot(b)
		p.all[root] = one
		p.closeLater(one)
	}
}

// drop forgets a root, and closes it if no request uses it. The caller holds the lock.
func (p *openRoots) drop(one *usedRoot) {
	one.timer.Stop()
	delete(p.all, one.Broker.Root())
	if one.users == 0 {
		p.closing.Go(one.close)
	}
}

// closeLater makes an open root close after p.idle, unless a request uses it before. The caller
// holds the lock.
func (p *openRoots) closeLater(one *usedRoot) {
	one.timer = time.AfterFunc(p.idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.all[one.Broker.Root()] == one && one.users == 0 {
			p.drop(one)
		}
	})
}

// done ends a use of a root. It closes a root that nobody can use any more.
func (p *openRoots) done(one *usedRoot) {
	p.mu.Lock()
	one.users--
	last := one.users == 0 && p.all[one.Broker.Root()] != one
	if one.users == 0 && !last {
		p.closeLater(one)
	}
	p.mu.Unlock()
	if last {
		one.close()
	}
}

// end closes all roots. No request uses one any more.
func (p *openRoots) end() {
	p.mu.Lock()
	for _, one := range p.all {
		p.drop(one)
	}
	p.mu.Unlock()
	p.closing.Wait()
}

// paths returns the open roots.
func (p *openRoots) paths() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.all))
}
