package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"c2c/broker"
	"c2c/live"
	"c2c/permission"
	"c2c/process/survive"
)

// ErrBusy: no further root can be opened, because as many roots are in use as the limit allows.
var ErrBusy = errors.New("too many projects are in use")

// openRoots holds the open roots.
type openRoots struct {
	open      func(root string) (*broker.Broker, error)
	whileOpen func(context.Context, *broker.Broker) // if set, runs for each open root until the root is closed
	max       int
	idle      time.Duration
	log       *slog.Logger
	// follow runs the hub of a root. It is a field so that a test can make it fail.
	follow func(context.Context, *live.Hub) error

	mu     sync.Mutex
	all    map[string]*usedRoot
	closed bool
}

// OpenRoot is an open root that several requests share. Callers must not close its parts.
type OpenRoot struct {
	Broker     *broker.Broker
	Live       *live.Hub         // follows the changes in the root, from the first use of Live on
	Permission *permission.Store // the permission requests of the root's sessions
	Requests   *Requests         // follows the requests in Permission
}

// usedRoot is an open root, with the number of requests that use it.
type usedRoot struct {
	OpenRoot
	stop    context.CancelFunc // ends the workers
	workers sync.WaitGroup     // the goroutines that run Live, Requests, and whileOpen
	users   int
	since   time.Time   // when the last request ended
	timer   *time.Timer // closes the root; runs while no request uses it
}

func (p *openRoots) newRoot(b *broker.Broker) *usedRoot {
	ctx, stop := context.WithCancel(context.Background())
	store, log := permission.Open(b.Dir(), time.Now).LogTo(b.Events.WriteTexts), p.log.With("root", b.Root())
	one := &usedRoot{stop: stop, OpenRoot: OpenRoot{Broker: b, Live: live.NewHub(live.Config{Broker: b}), Permission: store, Requests: newRequests(store, log)}}
	work := func(what string, do func()) {
		one.workers.Go(func() { survive.Loop(ctx, log, what, do) })
	}
	work("follow permission requests", func() { one.Requests.follow(ctx) })
	work("follow a root", func() { p.follow(ctx, one.Live) }) // the hub's followers get the error
	if p.whileOpen != nil {
		work("act on the deadlines of a root", func() { p.whileOpen(ctx, b) })
	}
	return one
}

func (p *usedRoot) close() {
	p.stop()
	p.workers.Wait()
	p.Broker.Close()
}

func newOpenRoots(open func(string) (*broker.Broker, error), max int, idle time.Duration, log *slog.Logger) *openRoots {
	return &openRoots{open: open, max: max, idle: idle, log: log, all: map[string]*usedRoot{},
		follow: func(ctx context.Context, h *live.Hub) error { return h.Run(ctx) }}
}

var errEnds = errors.New("the daemon is about to end")

// use returns a root that exists on disk, and opens it if necessary. When the caller no longer needs the root, it must call
// the returned function.
func (p *openRoots) use(ctx context.Context, root string) (*OpenRoot, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !filepath.IsAbs(root) {
		return nil, nil, fmt.Errorf("open root %q: the path is not absolute", root)
	}
	root = filepath.Clean(root)
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.current(root)
	if one == nil {
		if _, err := os.Stat(root); err != nil {
			return nil, nil, fmt.Errorf("open root: %w", err)
		}
		b, err := p.open(root)
		if err != nil {
			return nil, nil, err
		}
		if one, err = p.add(root, b); err != nil {
			return nil, nil, err
		}
	}
	one.users++
	if one.timer != nil {
		one.timer.Stop()
		one.timer = nil
	}
	var once sync.Once
	return &one.OpenRoot, func() { once.Do(func() { p.done(root, one) }) }, nil
}

// keep adds the root b, which the caller has just opened. If p has this root already, keep closes b.
func (p *openRoots) keep(b *broker.Broker) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	root := b.Root()
	if p.current(root) != nil {
		return b.Close()
	}
	one, err := p.add(root, b)
	if err == nil {
		p.closeLater(root, one)
	}
	return err
}

// current returns an open root, or nil. If the root's directory was removed or made again, writes to the old directory would be lost.
// Therefore current then drops the root and returns nil; the last request that uses the root closes it. The caller holds the lock.
func (p *openRoots) current(root string) *usedRoot {
	one := p.all[root]
	switch {
	case one == nil || !one.Broker.Replaced():
		return one
	case one.users == 0:
		p.close(root, one)
	default:
		delete(p.all, root)
	}
	return nil
}

// add makes a usedRoot for a new root. On an error it closes b. The caller holds the lock.
func (p *openRoots) add(root string, b *broker.Broker) (*usedRoot, error) {
	var err error
	switch {
	case p.closed:
		err = errEnds
	case len(p.all) >= p.max && !p.makeRoom():
		err = ErrBusy
	default:
		one := p.newRoot(b)
		p.all[root] = one
		return one, nil
	}
	return nil, errors.Join(err, b.Close())
}

// makeRoom closes the least recently used root. It returns false if all roots are in use. The caller holds the lock.
func (p *openRoots) makeRoom() bool {
	oldest := ""
	for root, one := range p.all {
		if one.users == 0 && (oldest == "" || one.since.Before(p.all[oldest].since)) {
			oldest = root
		}
	}
	if oldest == "" {
		return false
	}
	p.close(oldest, p.all[oldest])
	return true
}

func (p *openRoots) done(root string, one *usedRoot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.users--
	switch {
	case one.users > 0:
	case p.closed || p.all[root] != one:
		one.close()
	default:
		p.closeLater(root, one)
	}
}

// closeLater makes an open root close after p.idle, unless a request uses it before. The caller holds the lock.
func (p *openRoots) closeLater(root string, one *usedRoot) {
	one.since = time.Now()
	one.timer = time.AfterFunc(p.idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.all[root] == one && one.users == 0 {
			p.close(root, one)
		}
	})
}

// close closes an open root that no request uses. The caller holds the lock.
func (p *openRoots) close(root string, one *usedRoot) {
	if one.timer != nil {
		one.timer.Stop()
	}
	delete(p.all, root)
	one.close()
}

// end closes all roots that no request uses. A root in use is closed by the last request that uses it.
func (p *openRoots) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for root, one := range p.all {
		if one.users == 0 {
			p.close(root, one)
		}
	}
}

func (p *openRoots) roots() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.all))
}

func (p *openRoots) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// has reports whether a root is open and was neither removed nor made again since.
func (p *openRoots) has(root string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current(root) != nil
}
