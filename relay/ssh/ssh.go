// Package ssh carries packets between hosts through ssh, so c2c itself needs no port that is open
// to the network. One connection, called a link, serves both directions.
//
// A host that can reach another host runs ssh, which runs `c2c relay --stdio` on the other host.
// That command (see Stdio) connects to the socket of the relay there. Both ends prove their keys at
// the beginning of a link (see greet), so an ssh key alone does not make a machine a paired host.
// Then packets follow, each of them after four bytes with its length.
//
// A Carrier keeps a link to each host that it can reach, even if it has no mail to send: the other
// host may have mail, and may be unable to connect to this machine, for example because this
// machine is a laptop. If ssh fails, the Carrier tries again after a second, then after longer
// pauses of up to five minutes. A packet to send ends a pause, but not in the first second of the
// pause. While a link is up, the Carrier runs no timer; ssh itself notices within a minute that a
// link is dead (ServerAliveInterval).
package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"c2c/internal/daemon"
	"c2c/relay"
)

const (
	firstPause  = time.Second // the pause after ssh has failed once; it doubles up to lastPause
	lastPause   = 5 * time.Minute
	acceptPause = 10 * time.Second // the pause after an incoming link could not be accepted
	greetTime   = 45 * time.Second // how long both ends may take to prove their keys; ssh itself gives up after 15 s
	queue       = 16               // the most packets that wait to be written to a link; then Send waits
)

// Config configures a Carrier.
type Config struct {
	Peers    relay.Peers
	Dials    func() []Dial // returns the hosts that ssh can reach from here; Reload calls it again
	Program  string        // the path of ssh; "": ssh in the PATH
	Identity string        // the file with the key for ssh; "": ssh chooses a key
	Listener net.Listener  // the socket for incoming links, which Run closes; nil: there are none
	Changed  func()        // if set, called when the result of Status has changed; it must not call the Carrier
	Log      *slog.Logger
	Now      func() time.Time
}

// Dial is a host with its ssh destination.
type Dial struct{ Peer, Dest string }

// Carrier carries packets through ssh. It is a relay.Carrier.
type Carrier struct {
	cfg   Config
	tasks sync.WaitGroup

	// A goroutine that adds or removes a link holds this lock until it has told the handler. So the
	// handler learns of the changes in their order. A goroutine that needs both locks takes reports
	// first, then mu.
	reports sync.Mutex

	mu      sync.Mutex
	ctx     context.Context // the context of Run; nil while Run does not run
	handler relay.Handler
	ways    map[string]*way // by the name of the host
}

// way has the links to one host, and their state. The Carrier's lock mu guards its fields.
type way struct {
	links  []*link          // at most one dialled and one accepted; the newest is last
	status relay.LinkStatus // its Error is the last output of ssh
	kick   chan struct{}    // signals a packet to send
	stop   func()           // ends the method dial; nil: this machine does not dial the host
}

// New makes a Carrier that does nothing until Run.
func New(cfg Config) *Carrier {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	return &Carrier{cfg: cfg, ways: map[string]*way{}}
}

// Send implements relay.Carrier. It returns nil when the packet is queued for ssh.
func (c *Carrier) Send(ctx context.Context, peer string, packet []byte) error {
	if len(packet) > relay.MaxPacket {
		return fmt.Errorf("send to %q: a packet has %d bytes, at most %d", peer, len(packet), relay.MaxPacket)
	}
	l := c.newest(peer)
	if l == nil {
		return relay.ErrAway
	}
	select {
	case l.out <- packet:
		return nil
	case <-l.over:
		return relay.ErrAway
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newest returns the newest link to a host. If there is none, it makes the method dial try ssh at
// once.
func (c *Carrier) newest(peer string) *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.ways[peer]
	if w == nil {
		return nil
	}
	if n := len(w.links); n > 0 {
		return w.links[n-1]
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
	return nil
}

// Run implements relay.Carrier. It may be called only once.
func (c *Carrier) Run(ctx context.Context, h relay.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.ctx, c.handler = ctx, h
	c.mu.Unlock()
	c.Reload()
	if c.cfg.Listener != nil {
		c.tasks.Go(func() { daemon.SurviveLoop(ctx, c.cfg.Log, "accept links", func() { c.accept(ctx) }) })
	}
	<-ctx.Done()
	if c.cfg.Listener != nil {
		c.cfg.Listener.Close()
	}
	c.mu.Lock()
	c.ctx = nil // from now on no task begins
	c.mu.Unlock()
	c.tasks.Wait()
	return nil
}

// Reload reads the hosts again. It begins to dial new hosts, and ends the links of hosts that are
// removed or revoked.
func (c *Carrier) Reload() {
	dials := c.cfg.Dials()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		return
	}
	for name, w := range c.ways {
		i := slices.IndexFunc(dials, func(d Dial) bool { return d.Peer == name })
		if w.stop != nil && (i < 0 || dials[i].Dest != w.status.Dest) {
			w.stop()
			w.stop, w.status.Dest = nil, ""
		}
		if p, ok := c.cfg.Peers.Peer(name); !ok || p.Revoked != 0 {
			for _, l := range w.links {
				l.end()
			}
			if w.stop == nil && len(w.links) == 0 {
				delete(c.ways, name)
			}
		}
	}
	for _, d := range dials {
		w := c.way(d.Peer)
		if w.stop != nil {
			continue
		}
		ctx, stop := context.WithCancel(c.ctx)
		w.stop, w.status.Dest = stop, d.Dest
		c.tasks.Go(func() { daemon.SurviveLoop(ctx, c.cfg.Log, "link to a host", func() { c.dial(ctx, d, w.kick) }) })
	}
}

// way returns the entry of ways for a host, and makes it if necessary. The caller holds the lock.
func (c *Carrier) way(peer string) *way {
	w := c.ways[peer]
	if w == nil {
		w = &way{kick: make(chan struct{}, 1), status: relay.LinkStatus{Peer: peer}}
		c.ways[peer] = w
	}
	return w
}

// Status returns the state of each host that this host dials, or that has connected, sorted by
// name.
func (c *Carrier) Status() (all []relay.LinkStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, w := range c.ways {
		if p, ok := c.cfg.Peers.Peer(name); ok && p.Revoked == 0 {
			all = append(all, w.status)
		}
	}
	slices.SortFunc(all, func(a, b relay.LinkStatus) int { return cmp.Compare(a.Peer, b.Peer) })
	return all
}

// dial keeps a link to one host until ctx ends.
func (c *Carrier) dial(ctx context.Context, d Dial, kick <-chan struct{}) {
	pause := firstPause
	for {
		stood, err := c.runSSH(ctx, d)
		if ctx.Err() != nil {
			return
		}
		if stood {
			pause = firstPause
		}
		c.cfg.Log.Warn("no link through ssh", "host", d.Peer, "ssh", d.Dest, "err", err)
		c.failed(d.Peer, err)
		if !wait(ctx, firstPause, nil) || !wait(ctx, pause-firstPause, kick) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// wait waits for the time d, or until the channel kick has a value. It returns false if ctx has
// ended.
func wait(ctx context.Context, d time.Duration, kick <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-kick:
	case <-t.C:
	}
	return true
}

func (c *Carrier) failed(peer string, err error) {
	c.mu.Lock()
	w := c.way(peer)
	if !w.status.Up {
		w.status.Error = err.Error()
	}
	c.mu.Unlock()
	c.cfg.Changed()
}

// accept accepts incoming links until the listener is closed. After any other error, such as too
// many open files, it tries again.
func (c *Carrier) accept(ctx context.Context) {
	for {
		conn, err := c.cfg.Listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			c.cfg.Log.Error("no link from another host was accepted", "err", err)
			wait(ctx, acceptPause, nil)
			continue
		}
		c.tasks.Go(func() {
			err := daemon.Survive(c.cfg.Log, "serve a link", func() error { _, err := c.serve(ctx, conn, "", false); return err })
			if err != nil && ctx.Err() == nil {
				c.cfg.Log.Warn("a link from another host ended", "err", err)
			}
		})
	}
}
