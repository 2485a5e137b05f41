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
	"c2c/internal/daemon"
	"c2c/serve/live"
	"c2c/sessions/permission"
)

// ErrBusy: no further root can be opened, because as many roots are in use as the limit allows.
var ErrBusy = errors.New("too many projects are in use")

// openRoots holds the open roots. No goroutine uses a disk while it holds the lock mu: a slow disk delays only the requests for its root.
type openRoots struct {
	open      func(root string) (*broker.Broker, error)
	whileOpen func(context.Context, *broker.Broker) // if set, runs for each open root until the root is closed
	max       int
	idle      time.Duration
	log       *slog.Logger
	// follow runs the hub of a root, and replaced asks its disk. They are fields so that a test can make them fail.
	follow   func(context.Context, *live.Hub) error
	replaced func(*broker.Broker) bool

	opening sync.Map // by root, a *sync.Mutex: one goroutine at a time opens or checks the root
	mu      sync.Mutex
	all     map[string]*usedRoot
	closing map[string]*usedRoot // roots that the method close has taken out of the map all, until they are closed
	closed  bool
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
	ended   chan struct{}      // closed when the root is closed
	users   int
	since   time.Time   // when the last request ended
	timer   *time.Timer // closes the root; runs while no request uses it
}

func (p *openRoots) newRoot(b *broker.Broker) *usedRoot {
	ctx, stop := context.WithCancel(context.Background())
	store, log := permission.Open(b.Dir(), time.Now).LogTo(b.Events.WriteTexts), p.log.With("root", b.Root())
	one := &usedRoot{stop: stop, ended: make(chan struct{}), OpenRoot: OpenRoot{Broker: b, Live: live.NewHub(live.Config{Broker: b}), Permission: store, Requests: live.NewRequestList(store, log)}}
	work := func(what string, do func()) {
		one.workers.Go(func() { daemon.SurviveLoop(ctx, log, what, do) })
	}
	work("follow permission requests", func() { one.Requests.Follow(ctx) })
	work("follow a root", func() { p.follow(ctx, one.Live) }) // the hub's followers get the error
	if p.whileOpen != nil {
		work("act on the deadlines of a root", func() { p.whileOpen(ctx, b) })
	}
	return one
}

func newOpenRoots(open func(string) (*broker.Broker, error), max int, idle time.Duration, log *slog.Logger) *openRoots {
	return &openRoots{open: open, max: max, idle: idle, log: log, all: map[string]*usedRoot{}, closing: map[string]*usedRoot{},
		follow:   func(ctx context.Context, h *live.Hub) error { return h.Run(ctx) },
		replaced: func(b *broker.Broker) bool { return b.Replaced() }}
}

var errEnds = errors.New("the daemon is about to end")

// use returns a root that exists on disk, and opens it if necessary. When the caller no longer needs the root, it must call
// the returned function.
func (p *openRoots) use(ctx context.Context, root string) (*OpenRoot, func(), error) {
	if !filepath.IsAbs(root) {
		return nil, nil, fmt.Errorf("open root %q: the path is not absolute", root)
	}
	root = filepath.Clean(root)
	for ctx.Err() == nil {
		if err := p.look(root); err != nil {
			return nil, nil, err
		}
		if one := p.hold(root); one != nil { // else it was closed meanwhile
			var once sync.Once
			return &one.OpenRoot, func() { once.Do(func() { p.done(root, one) }) }, nil
		}
	}
	return nil, nil, ctx.Err()
}

// look opens a root that exists on disk, unless it is open. The root may be removed and made again while it is opened.
func (p *openRoots) look(root string) error {
	one, _ := p.opening.LoadOrStore(root, new(sync.Mutex))
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	for !p.has(root) {
		if _, err := os.Stat(root); err != nil {
			return fmt.Errorf("open root: %w", err)
		}
		b, err := p.open(root)
		if err == nil {
			err = p.add(root, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a root is open. If the root's directory was removed or made again, writes to the old directory would be lost.
// So the method then drops the root and returns false; the last request that uses the root closes it. If a root hangs while it is closed,
// the method waits for it: otherwise each opening would leave more goroutines that hang.
func (p *openRoots) has(root string) bool {
	one := p.hold(root)
	if one == nil {
		p.mu.Lock()
		old := p.closing[root]
		p.mu.Unlock()
		if old != nil {
			<-old.ended
		}
		return false
	}
	defer p.done(root, one)
	if !p.replaced(one.Broker) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[root] == one {
		delete(p.all, root)
	}
	return false
}

// hold counts a request that uses an open root. It returns nil if the root is not open.
func (p *openRoots) hold(root string) *usedRoot {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[root]
	if one != nil {
		one.users++
		one.timer.Stop()
	}
	return one
}

// add adds a root that the caller has just opened. If p has this root already, or on an error, add closes b.
func (p *openRoots) add(root string, b *broker.Broker) (err error) {
	p.mu.Lock()
	switch {
	case p.closed:
		err = errEnds
	case p.all[root] != nil:
	case len(p.all) >= p.max && !p.makeRoom():
		err = ErrBusy
	default:
		defer p.mu.Unlock()
		p.all[root] = p.newRoot(b)
		p.closeLater(root, p.all[root])
		return nil
	}
	p.mu.Unlock()
	return errors.Join(err, b.Close())
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

// done ends a use of a root. It closes a root that nobody can use any more, and waits for that.
func (p *openRoots) done(root string, one *usedRoot) {
	p.mu.Lock()
	one.users--
	last := one.users == 0 && (p.closed || p.all[root] != one)
	switch {
	case last:
		p.close(root, one)
	case one.users == 0:
		p.closeLater(root, one)
	}
	p.mu.Unlock()
	if last {
		<-one.ended
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

// close closes a root that no request uses, in a goroutine. The caller holds the lock.
func (p *openRoots) close(root string, one *usedRoot) {
	one.timer.Stop()
	if p.all[root] == one {
		delete(p.all, root)
	}
	p.closing[root] = one
	go func() {
		one.stop()
		one.workers.Wait()
		one.Broker.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closing[root] == one {
			delete(p.closing, root)
		}
		close(one.ended)
	}()
}

// end closes all roots that no request uses. A root in use is closed by the last request that uses it. The function wait waits until the
// roots that no request used are closed, and not for those in use.
func (p *openRoots) end() (wait func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for root, one := range p.all {
		if one.users == 0 {
			p.close(root, one)
		}
	}
	closing := maps.Clone(p.closing)
	return func() {
		for _, one := range closing {
			<-one.ended
		}
	}
}

// paths returns the keys of p.all or of p.closing.
func (p *openRoots) paths(of map[string]*usedRoot) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(of))
}

func (p *openRoots) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}
