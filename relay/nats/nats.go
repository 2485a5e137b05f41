// Package nats carries packets between hosts through a hub: a nats-server with JetStream, which
// keeps the packets while a host sleeps. So two hosts can exchange mail although they are never
// awake at the same time.
//
// The hosts of a hub are its fleet. Each host has a stream at the hub, C2C_<host>, which the hub's
// owner makes (see Hub). The host reads the stream by one consumer. A packet is published under
// c2c.<fleet>.<to>.m.<from>. A host publishes its list of sessions under
// c2c.<fleet>.<to>.p.<from>.<project> (in fact a hash of the project), where the hub keeps only the
// last list. The hub lets each host publish only in its own name (see ServerConfig), but the relay
// does not rely on that: each packet has a signature of its host.
//
// The package does not rely on JetStream to keep the order or to drop repeated packets, because
// JetStream may deliver a packet again, and forgets old ids. The numbers of package relay take care
// of both. A packet is acknowledged at the hub when the handler has taken it. The package sends no
// packet twice. If the hub does not store a packet, the hub says so or the connection ends. Later
// the handler is told of a new link, and the relay sends the mail again.
package nats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"c2c/internal/daemon"
	"c2c/relay"
)

const (
	pingEvery  = 5 * time.Second // a connection counts as dead after the second ping without an answer
	firstPause = time.Second     // the pause before the first repetition of a failed attempt
	lastPause  = 30 * time.Second
	goodbye    = time.Second // how long the last acknowledgements may take to leave this host

	connectTime = 10 * time.Second // if the hub says nothing, Run also needs so long to end
)

// Config configures a Carrier.
type Config struct {
	Access  Access          // what this host needs to use the hub
	Peers   func() []string // returns the hosts to carry packets to, by their names at the hub; Reload calls it again
	Changed func()          // if set, called when the result of Status has changed; it must not call the Carrier
	Log     *slog.Logger
	Now     func() time.Time
}

// Carrier carries packets through a hub. It is a relay.Carrier.
type Carrier struct {
	cfg     Config
	changed chan struct{} // tells the method keep that a field below has changed

	mu     sync.Mutex
	runs   int          // how often Run was called
	conn   *client.Conn // nil while Run does not run
	up     bool
	serial int    // the number of the connection that is up
	err    string // why the hub cannot be reached
	unread string // why nothing is received although the connection is up
	ways   map[string]*way
}

// way is the link to one host. The Carrier's lock mu guards its fields.
type way struct {
	relay.LinkStatus
	refused bool          // the hub has refused a packet with messages, and has stored none since
	serial  int           // the number of the connection that the handler was last told of
	retry   time.Time     // the link stays down until this time
	pause   time.Duration // how long the link stays down after the next failure

	sent     int                      // how many packets with messages were sent
	unstored map[int]relay.Label      // by number: the packets with messages that the hub has not stored yet, as far as is known
	lost     map[string]relay.FrameID // by project: the first frame that a former link has lost, see Lost
	tried    time.Time                // when the last one was published
	resumed  bool                     // after a refusal the hub has stored a packet with messages: tell the handler of a new link
}

// show sets the state of a link. A link with an error does not count as up, so Since changes only
// when up without an error begins or ends.
func (w *way) show(up bool, err string, now time.Time) {
	if (up && err == "") != (w.Up && w.Error == "") {
		w.Since = now
	}
	w.Up, w.Error = up, err
}

// lose records that the packets without an answer are lost.
func (w *way) lose() {
	for _, l := range w.unstored {
		was := w.lost[l.Project]
		if was.Epoch < l.First.Epoch || was.Epoch == l.First.Epoch && l.First.Number < was.Number {
			w.lost[l.Project] = l.First
		}
	}
	clear(w.unstored)
}

// count returns the number of a packet with messages; 0 for other packets. The result waits means
// that the packet must wait for the next link: after a refusal only one packet tries whether the
// hub takes mail again. If all were sent, the hub would store those that are smaller than the
// refused one again and again.
func (w *way) count(l relay.Label, now time.Time) (n int, waits bool) {
	if l.First == (relay.FrameID{}) {
		return 0, false
	}
	if waits = w.refused && len(w.unstored) > 0 && now.Sub(w.tried) < lastPause; !waits {
		w.tried = now
	}
	w.sent++
	w.unstored[w.sent] = l
	return w.sent, waits
}

// New makes a Carrier that does nothing until Run.
func New(cfg Config) *Carrier {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	return &Carrier{cfg: cfg, changed: make(chan struct{}, 1), ways: map[string]*way{}}
}

// Send implements relay.Carrier. It returns nil when the packet is queued for the hub.
func (c *Carrier) Send(_ context.Context, peer string, packet []byte) error {
	if len(packet) > relay.MaxPacket {
		return fmt.Errorf("send to %q: a packet has %d bytes, at most %d", peer, len(packet), relay.MaxPacket)
	}
	label, _ := relay.LabelOf(packet) // the relay has just made it
	now := c.cfg.Now()
	c.mu.Lock()
	w, conn := c.ways[peer], c.conn
	if conn == nil || !c.up || w == nil || now.Before(w.retry) {
		c.mu.Unlock()
		return relay.ErrAway
	}
	n, waits := w.count(label, now)
	c.mu.Unlock()
	if waits {
		return nil // Lost returns it when there is a new link
	}
	a := c.cfg.Access
	m := client.NewMsg(mailSubject(a.Fleet, peer, a.Host))
	if label.Kind == relay.Hello {
		m.Subject = presenceSubject(a.Fleet, peer, a.Host, label.Project)
		m.Header.Set("Nats-Rollup", "sub") // the hub keeps only the last hello
	}
	m.Reply, m.Data = a.answer(n, peer), packet
	switch err := conn.PublishMsg(m); {
	case errors.Is(err, client.ErrReconnectBufExceeded), errors.Is(err, client.ErrConnectionClosed), errors.Is(err, client.ErrConnectionReconnecting):
		return relay.ErrAway
	case err != nil:
		return fmt.Errorf("send to %q through the hub: %w", peer, err)
	}
	return nil
}

// Run implements relay.Carrier. A Carrier may run again after it has ended.
func (c *Carrier) Run(ctx context.Context, h relay.Handler) error {
	a := c.cfg.Access
	opts, err := a.options()
	if err != nil {
		return err
	}
	r := &receiver{Carrier: c, handler: h, fresh: make(chan struct{}, 1), msgs: make(chan *client.Msg, mostQueued)}
	c.mu.Lock()
	c.runs++
	run := c.runs
	c.mu.Unlock()
	up := func(*client.Conn) { c.linked(run, ""); daemon.Poke(r.fresh) }
	lost := func(_ *client.Conn, err error) {
		c.linked(run, cmp.Or(err, errors.New("the link to the hub was lost")).Error())
	}
	opts = append(opts, client.PingInterval(pingEvery), client.MaxPingsOutstanding(1), client.MaxReconnects(-1), client.ReconnectBufSize(-1),
		client.RetryOnFailedConnect(true), client.IgnoreAuthErrorAbort(), client.CustomReconnectDelay(c.pauseOf), client.Timeout(connectTime),
		client.ConnectHandler(up), client.ReconnectHandler(up),
		client.DisconnectErrHandler(lost), client.ReconnectErrHandler(lost),
		client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { c.complained(err) }))
	conn, err := client.Connect(a.URL, opts...)
	if err != nil {
		return fmt.Errorf("reach the hub %s: %w", a.URL, err)
	}
	defer conn.Close()
	r.conn = conn
	if _, err = conn.Subscribe(a.inbox()+".stored.*.*", c.stored); err == nil {
		_, err = conn.ChanSubscribe(r.inbox(), r.msgs)
	}
	if err != nil {
		return fmt.Errorf("listen at the hub %s: %w", a.URL, err)
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	var tasks sync.WaitGroup
	tasks.Go(func() { daemon.SurviveLoop(ctx, c.cfg.Log, "keep the link to a hub", func() { c.keep(ctx, h) }) })
	r.run(ctx)
	tasks.Wait()
	c.mu.Lock()
	c.conn, c.up, c.ways = nil, false, map[string]*way{}
	c.mu.Unlock()
	conn.FlushTimeout(goodbye)
	return nil
}

// pauseOf returns the time until the next attempt to connect. The time is random, so that hosts
// that have lost the hub at the same time do not come back at the same time.
func (c *Carrier) pauseOf(attempts int) time.Duration {
	daemon.Poke(c.changed) // an attempt has failed, perhaps with a new error
	pause := min(firstPause<<min(max(attempts-1, 0), 8), lastPause)
	return pause/2 + rand.N(pause/2)
}

// linked records that the hub can be reached (err is ""), or the reason why it cannot. The NATS
// client may tell the end of a connection only when the next call of Run has a new one.
func (c *Carrier) linked(run int, err string) {
	c.mu.Lock()
	if run != c.runs {
		c.mu.Unlock()
		return
	}
	c.up, c.err = err == "", err
	if c.up {
		c.serial++
	}
	c.mu.Unlock()
	daemon.Poke(c.changed)
}

// Reload makes the Carrier call Config.Peers again.
func (c *Carrier) Reload() { daemon.Poke(c.changed) }

// Status returns the state of the link to each host, sorted by name.
func (c *Carrier) Status() (all []relay.LinkStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.ways {
		st := w.LinkStatus
		st.Up = st.Up && st.Error == ""
		if !c.up {
			st.Error = c.whyNot()
		}
		st.Error = cmp.Or(st.Error, c.unread)
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b relay.LinkStatus) int { return cmp.Compare(a.Peer, b.Peer) })
	return all
}

// Lost implements relay.Loser.
func (c *Carrier) Lost(peer, project string) (first relay.FrameID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.ways[peer]; w != nil {
		first = w.lost[project]
		delete(w.lost, project)
	}
	return first
}

// whyNot returns the reason why there is no link to the hub. If the hub refuses this host, the NATS
// client calls no handler; only its LastError shows the refusal.
func (c *Carrier) whyNot() string {
	if c.conn != nil {
		if err := c.conn.LastError(); errors.Is(err, client.ErrAuthorization) {
			return "the hub does not accept this host: " + err.Error()
		}
	}
	return c.err
}

// keep reports links to the handler until ctx ends.
func (c *Carrier) keep(ctx context.Context, h relay.Handler) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		case <-timer.C:
		}
		timer.Stop()
		if later, ok := c.tell(h); ok {
			timer.Reset(later)
		}
		c.cfg.Changed()
	}
}

// tell reports changed links to the handler. If again is set, the caller must call tell again after
// the time in the result later.
func (c *Carrier) tell(h relay.Handler) (later time.Duration, again bool) {
	peers := c.cfg.Peers()
	news := map[string]bool{}
	c.mu.Lock()
	for _, peer := range peers {
		if c.ways[peer] == nil {
			c.ways[peer] = &way{LinkStatus: relay.LinkStatus{Peer: peer, Hub: c.cfg.Access.URL}, pause: firstPause, unstored: map[int]relay.Label{}, lost: map[string]relay.FrameID{}}
		}
	}
	now := c.cfg.Now()
	for name, w := range c.ways {
		there := slices.Contains(peers, name)
		wait := w.retry.Sub(now)
		up := c.up && there && wait <= 0
		if up != w.Up || up && (w.serial != c.serial || w.resumed) {
			if up {
				w.lose()
			}
			w.serial, w.resumed, news[name] = c.serial, false, up
			w.show(up, w.Error, now)
		}
		if wait > 0 && (!again || wait < later) {
			later, again = wait, true
		}
		if !there {
			delete(c.ways, name)
		}
	}
	c.mu.Unlock()
	for peer, up := range news {
		h.Link(peer, up)
	}
	return later, again
}

// stored handles the hub's answer to a packet.
func (c *Carrier) stored(m *client.Msg) {
	words := strings.Split(m.Subject, ".") // see Access.answer
	n, _ := strconv.Atoi(words[len(words)-2])
	peer := words[len(words)-1]
	var answer struct{ Error *struct{ Description string } }
	switch {
	case m.Header.Get("Status") == "503":
		c.answered(peer, 0, "the hub has no stream for this host")
	case json.Unmarshal(m.Data, &answer) != nil:
		c.answered(peer, 0, "the hub's answer has a form that this version of c2c does not know")
	case answer.Error != nil:
		c.answered(peer, n, "the hub does not store mail for it: "+answer.Error.Description)
	default:
		c.answered(peer, n, "")
	}
}

// answered records that the hub has stored a packet for a host, or why not; then the link counts as
// down for some time. The argument n is the packet's number if it has messages, otherwise 0.
// Packets without messages are small, so a full stream may take them: they do not prove that the
// hub takes mail again.
func (c *Carrier) answered(peer string, n int, err string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, now := c.ways[peer], c.cfg.Now()
	if w == nil {
		return
	}
	hasMail := n > 0
	if err == "" {
		delete(w.unstored, n)
	}
	w.refused = w.refused || err != "" && hasMail
	switch {
	case now.Before(w.retry): // the packet was sent before the failure was known: only answers to later ones count
	case err != "":
		w.show(w.Up, err, now)
		w.serial, w.retry, w.pause = -1, now.Add(w.pause), min(2*w.pause, lastPause)
		c.cfg.Log.Warn("mail for a host does not go to the hub", "host", peer, "err", err)
		daemon.Poke(c.changed)
	case w.Error != "" && (hasMail || !w.refused):
		w.show(w.Up, "", now)
		w.resumed, w.refused, w.pause = w.refused, false, firstPause
		c.cfg.Log.Info("the hub takes mail for a host again", "host", peer)
		daemon.Poke(c.changed)
	}
}

// complained handles an error of the hub that is not the answer to a packet. If the hub forbids a
// packet, it sends only such an error.
func (c *Carrier) complained(err error) {
	if text := err.Error(); errors.Is(err, client.ErrPermissionViolation) {
		if _, to, ok := strings.Cut(text, subjectOf(c.cfg.Access.Fleet)); ok {
			peer, _, _ := strings.Cut(to, ".")
			c.answered(peer, 0, "the hub does not let this host write to that one")
			return
		}
	}
	c.cfg.Log.Warn("the hub complains", "hub", c.cfg.Access.URL, "err", err)
}

func subjectOf(fleet string) string { return "c2c." + fleet + "." }

func mailSubject(fleet, to, from string) string { return subjectOf(fleet) + to + ".m." + from }

// presenceSubject returns the subject for the list of sessions. It has a hash of the project,
// because only few characters may be in a subject.
func presenceSubject(fleet, to, from, project string) string {
	sum := sha256.Sum256([]byte(project))
	return subjectOf(fleet) + to + ".p." + from + "." + hex.EncodeToString(sum[:8])
}
