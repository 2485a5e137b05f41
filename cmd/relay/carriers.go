package relay

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"c2c/internal/daemon"
	"c2c/relay"
)

// carrier is what each kind of carrier is.
type carrier interface {
	relay.Carrier
	Status() []relay.LinkStatus // the links to hosts
	Reload()                    // reads the list of hosts again
}

// kind is what c2c relay has to know of a kind of carrier.
type kind struct {
	// open returns nil if this host does not have what the carrier needs. The carrier must call
	// changed when a link changes.
	open func(h *Host, changed func()) (carrier, error)
	hub  bool // see relay.Way
}

// kinds has each of relay.Kinds. The file of a carrier adds it in its init.
var kinds = map[string]kind{}

// Link is the state of the link to one host, for c2c relay status.
type Link struct {
	relay.LinkStatus

	// Only c2c relay status sets the following fields. They are about all projects together.
	SeenAt    time.Time `json:"last_seen_at,omitzero"`
	Waiting   int       `json:"waiting_count,omitempty"`
	Trouble   string    `json:"trouble,omitempty"` // the last trouble that a person should know about
	TroubleAt time.Time `json:"trouble_at,omitzero"`
}

// carriers holds one carrier for each kind. The list of hosts names one carrier for
// each host, and mail to the host goes by that carrier. Mail from a host is accepted from every
// carrier, so a host may change its carrier at any time.
type carriers struct {
	list *relay.HostList
	ways map[string]carrier
	log  *slog.Logger

	mu      sync.Mutex
	handler relay.Handler
	up      map[string][]string // by host: the kinds of the carriers that are linked to it
	told    map[string]string   // by host: the kind of the carrier whose link was reported last
}

// kind returns the kind of the carrier for a host; "" if the host is not in the list, or the list
// is damaged.
func (c *carriers) kind(peer string) string {
	h, err := c.list.ByName(peer)
	if err != nil {
		return ""
	}
	return h.Carrier
}

// way implements the field Way of relay.Config.
func (c *carriers) way(peer string) relay.Way {
	h, err := c.list.ByName(peer)
	return relay.Way{Hub: err == nil && kinds[h.Carrier].hub, Dials: err == nil && h.Dest != ""}
}

// Send implements relay.Carrier.
func (c *carriers) Send(ctx context.Context, peer string, packet []byte) error {
	way := c.ways[c.kind(peer)]
	if way == nil {
		return relay.ErrAway
	}
	return way.Send(ctx, peer, packet)
}

// Lost implements relay.Loser.
func (c *carriers) Lost(peer, project string) relay.FrameID {
	if way, ok := c.ways[c.kind(peer)].(relay.Loser); ok {
		return way.Lost(peer, project)
	}
	return relay.FrameID{}
}

// Run implements relay.Carrier.
func (c *carriers) Run(ctx context.Context, h relay.Handler) error {
	c.mu.Lock()
	c.handler, c.up, c.told = h, map[string][]string{}, map[string]string{}
	c.mu.Unlock()
	var running sync.WaitGroup
	for kind, way := range c.ways {
		running.Go(func() {
			err := daemon.Survive(c.log, "carry packets by "+kind, func() error { return way.Run(ctx, &oneWay{c, kind}) })
			if err != nil {
				c.log.Error("a carrier ended", "by", kind, "err", err)
			}
		})
	}
	running.Wait()
	return nil
}

// oneWay is the handler of one carrier.
type oneWay struct {
	*carriers
	kind string
}

func (w *oneWay) Packet(ctx context.Context, packet []byte) error {
	return daemon.Survive(w.log, "take a packet", func() error { return w.handler.Packet(ctx, packet) })
}

func (w *oneWay) Link(peer string, up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kinds := slices.DeleteFunc(w.up[peer], func(k string) bool { return k == w.kind })
	if up {
		kinds = append(kinds, w.kind)
	}
	w.up[peer] = kinds
	if w.carriers.kind(peer) == w.kind {
		w.told[peer] = w.kind
		w.handler.Link(peer, up)
	}
}

// reload makes each carrier read the list of hosts again, and moves hosts to their present
// carriers. Call it after the list has changed.
func (c *carriers) reload() {
	for _, way := range c.ways {
		way.Reload()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for peer, kinds := range c.up {
		if kind := c.kind(peer); kind != c.told[peer] {
			c.told[peer] = kind
			c.handler.Link(peer, false)
			if slices.Contains(kinds, kind) {
				c.handler.Link(peer, true)
			}
		}
	}
}

// Status returns the links by which mail goes to the hosts now.
func (c *carriers) Status() (all []relay.LinkStatus) {
	for _, kind := range relay.Kinds() {
		if way := c.ways[kind]; way != nil {
			all = append(all, slices.DeleteFunc(way.Status(), func(st relay.LinkStatus) bool {
				h, err := c.list.ByName(st.Peer)
				return err != nil || h.Revoked != 0 || h.Carrier != kind
			})...)
		}
	}
	return all
}
