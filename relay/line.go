package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/relay/cache"
)

// Config configures a Relay.
type Config struct {
	Root    *atomicfile.Dir
	Project string // the name of the root's project, the same on all hosts
	Peers   Peers
	Carrier Carrier
	Post    Post
	Way     func(peer string) Way // how packets get to a peer; nil: the zero Way for all peers
	Log     inbox.Log             // nil: no log
	Now     func() time.Time      // nil: time.Now
	// Fault is called between the steps of a change on disk, and before a packet is sent. At each
	// of these points, a kill would leave the files in another state. If Fault returns an error,
	// the relay stops there as if it were killed. Only tests set Fault.
	Fault func(step string) error
}

// Way says how packets get to a peer. The zero value: the peer makes the link, and this host may
// notice late that the link has ended.
type Way struct {
	Hub   bool // a hub takes the packets, even while the peer sleeps; a link then means that the hub can be reached
	Dials bool // this host dials the peer, so the carrier notices within a minute that the peer is gone
}

// A Relay carries the mail of one root to all paired hosts and from them. Any number of goroutines
// may call its methods.
type Relay struct {
	Config
	dir *atomicfile.Dir

	mu       sync.Mutex
	lines    map[string]*line
	fresh    []*line       // lines whose sender is not running yet; Run starts these senders
	started  chan struct{} // signals Run that the field fresh has new lines
	closed   bool
	sessions []cache.HeardSession
	dropped  int // how many packets the method Packet has dropped
}

// Open opens a relay. The caller must then call Run.
func Open(cfg Config) (*Relay, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = inbox.NoLog
	}
	if cfg.Way == nil {
		cfg.Way = func(string) Way { return Way{} }
	}
	if cfg.Fault == nil {
		cfg.Fault = func(string) error { return nil }
	}
	dir, err := openState(cfg.Root)
	if err != nil {
		return nil, err
	}
	return &Relay{Config: cfg, dir: dir, lines: map[string]*line{}, started: make(chan struct{}, 1)}, nil
}

// patience is how long the relay waits for a lock before it gives up, and tries again later. A
// suspended process may hold a lock for days, and meanwhile the line's other packets must come and
// go.
const patience = 2 * time.Second

func brief(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, patience)
}

// Run sends mail until ctx ends, and then releases its leases. Call no other method after Run has
// returned.
func (r *Relay) Run(ctx context.Context) error {
	var senders sync.WaitGroup
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.started:
		}
		r.mu.Lock()
		fresh := r.fresh
		r.fresh = nil
		r.mu.Unlock()
		for _, l := range fresh {
			senders.Go(func() {
				if err := daemon.Survive(r.Log, "send to a host", func() error { return l.out.run(ctx) }); err != nil {
					stop(err)
				}
			})
		}
	}
	senders.Wait()
	err := r.close()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		err = errors.Join(cause, err)
	}
	return err
}

func (r *Relay) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, l := range r.lines {
		l.in.mu.Lock() // wait until a delivery under way is stored
		errs = append(errs, l.lock.Release())
		l.in.closed = true
		l.in.mu.Unlock()
	}
	return errors.Join(append(errs, r.dir.Close())...)
}

// line has the state of the exchange between this root and one peer.
type line struct {
	*Relay
	peer string
	lock *atomicfile.Lock
	in   receiver
	out  sender
	seen contact
	told struct {
		sync.Mutex
		at map[string]time.Time // key: a text about a trouble; value: when people were last shown this text
	}
}

// errElsewhere means that another process carries the mail between this root and the peer. Only one
// process may number the messages.
var errElsewhere = errors.New("another process relays for this host")

// errClosed is the error of calls after Run has ended.
var errClosed = errors.New("the relay has ended")

// line returns the line of a peer, and opens it if necessary.
func (r *Relay) line(peer string) (*line, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lines[peer]; l != nil || r.closed {
		if r.closed {
			return nil, errClosed
		}
		return l, nil
	}
	l, err := r.openLine(peer)
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", peer, err)
	}
	l.out.sessions = r.sessions
	r.lines[peer] = l
	r.fresh = append(r.fresh, l)
	select {
	case r.started <- struct{}{}:
	default:
	}
	return l, nil
}

func (r *Relay) openLine(peer string) (l *line, err error) {
	l = &line{Relay: r, peer: peer}
	l.told.at = map[string]time.Time{}
	if l.lock, err = atomicfile.OpenLocked(r.dir, peer+".lock"); err != nil {
		return nil, err
	}
	held, err := l.lock.Try()
	if err == nil && !held {
		err = errElsewhere
	}
	if err == nil {
		err = l.in.open(l)
	}
	if err == nil {
		err = l.out.open(l)
	}
	if err != nil {
		return nil, errors.Join(err, l.lock.Release())
	}
	return l, nil
}

// Link implements Handler, for a carrier.
func (r *Relay) Link(peer string, up bool) {
	if l := r.lineOf(peer); l != nil {
		l.out.linked(up)
	}
}

// Look makes the relay look for new mail in the outbox for a peer. Look waits for no lock.
func (r *Relay) Look(peer string) {
	if l := r.lineOf(peer); l != nil {
		poke(l.out.mail)
	}
}

// lineOf returns the line of a paired host. It returns nil if the host is not paired, or after an
// error; it logs the error.
func (r *Relay) lineOf(peer string) *line {
	if _, ok := r.Peers.Peer(peer); !ok {
		return nil
	}
	l, err := r.line(peer)
	if err != nil {
		r.Log.Error("no mail goes to a host", "host", peer, "err", err)
		return nil
	}
	return l
}

// Packet implements Handler, for a carrier. It drops packets that are hostile, damaged or for
// another host.
func (r *Relay) Packet(ctx context.Context, packet []byte) error {
	err := r.packet(ctx, packet)
	if !errors.Is(err, errForeign) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped++; r.dropped&(r.dropped-1) == 0 { // log only the counts 1, 2, 4, 8 and so on, because a flood must not fill the log
		r.Log.Warn("packets were dropped", "count", r.dropped, "last", err)
	}
	return nil
}

func (r *Relay) packet(ctx context.Context, packet []byte) error {
	from, h, sealed, err := check(r.Peers, packet)
	switch {
	case err != nil:
		return err
	case h.project != r.Project:
		return fmt.Errorf("%w: it is for project %s", errForeign, h.project)
	}
	l, err := r.line(from.Name)
	if err != nil {
		return err
	}
	if from.Revoked != 0 {
		if h.kind != Frame {
			return nil
		}
		return l.answer(ctx, from, h, receipt{state: revoked})
	}
	l.heard(h.kind)
	switch h.kind {
	case Frame:
		rc, err := l.in.frame(ctx, from, h, sealed)
		if err != nil {
			return err
		}
		return l.answer(ctx, from, h, rc)
	case Receipt:
		rc, err := r.parseReceipt(h, sealed)
		if err == nil {
			l.out.receipt(rc)
		}
		return err
	case Hello:
		return l.hello(h, sealed)
	default:
		return l.states(h, sealed)
	}
}

// receipt says which messages of an epoch the receiver has stored.
type receipt struct {
	about   uint64 // the epoch of the frame that this receipt answers
	epoch   uint64 // the epoch to which number belongs
	number  uint64 // the highest stored number
	hash    hash   // the hash over all messages of the epoch, up to number
	attempt uint32
	state   state
	refused []refusal
	hello   bool // this is no receipt: a hello of the peer for this project has come
}

// answer sends a receipt for a frame. If there is no link to the peer, answer returns nil: the peer
// will ask for the receipt again.
func (l *line) answer(ctx context.Context, to Host, h header, rc receipt) error {
	if err := l.fault("receipt"); err != nil {
		return err
	}
	var body []byte
	if len(rc.refused) > 0 {
		var err error
		if body, err = json.Marshal(rc.refused); err != nil {
			return err
		}
	}
	packet, err := pack(l.Peers, to, header{kind: Receipt, project: l.Project, epoch: h.epoch, number: rc.number, hash: rc.hash, acked: rc.epoch,
		attempt: h.attempt, count: uint16(min(len(rc.refused), maxCount)), state: rc.state}, body)
	if err != nil {
		return err
	}
	if err := l.Carrier.Send(ctx, to.Name, packet); err != nil && !errors.Is(err, ErrAway) {
		l.Log.Warn("a receipt was not sent", "host", l.peer, "err", err)
	}
	return nil
}

func (r *Relay) parseReceipt(h header, sealed []byte) (receipt, error) {
	rc := receipt{about: h.epoch, epoch: h.acked, number: h.number, hash: h.hash, attempt: h.attempt, state: h.state}
	body, err := unseal(r.Peers, h, sealed)
	if err != nil || len(body) == 0 {
		return rc, err
	}
	if err := json.Unmarshal(body, &rc.refused); err != nil || len(rc.refused) > maxRefused {
		return rc, fmt.Errorf("%w: its refusals are invalid", errForeign)
	}
	return rc, nil
}

// tell shows people a trouble that they should know about, although the relay copes with it. It
// shows the same words at most once an hour.
func (l *line) tell(words string) {
	now := l.Now()
	l.told.Lock()
	before, again := l.told.at[words]
	again = again && now.Sub(before) >= 0 && now.Sub(before) < time.Hour
	if !again {
		l.told.at[words] = now
	}
	l.told.Unlock()
	if again {
		return
	}
	l.Log.Warn("trouble with a host", "host", l.peer, "what", words)
	if err := l.change(func(h *cache.HeardHost) { h.Trouble, h.TroubleAt = words, mail.Seconds(now) }); err != nil {
		l.Log.Warn("trouble with a host is not shown", "host", l.peer, "err", err)
	}
}
