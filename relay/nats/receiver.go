package nats

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	client "github.com/nats-io/nats.go"

	"c2c/internal/daemon"
	"c2c/relay"
)

const (
	batch      = 16               // the most packets that are requested from the hub at a time
	batchBytes = 4 << 20          // the most bytes of these packets together
	batchTime  = 5 * time.Minute  // how long a request is valid
	beat       = 10 * time.Second // the time between two heartbeats of the hub
	mostQueued = 256              // the most packets and status messages that wait for the method run

	lastDelay = 5 * time.Minute // if a packet was not taken, the longest time until the hub sends it again
)

// receiver takes the packets of this host from the hub, one by one.
type receiver struct {
	*Carrier
	conn    *client.Conn
	handler relay.Handler
	fresh   chan struct{} // signals a new connection
	msgs    chan *client.Msg

	asked int           // how many packets the hub may still send for our requests
	pause time.Duration // the time until the next request, if the hub refuses requests
}

func (r *receiver) inbox() string { return r.cfg.Access.inbox() + ".mail" }

// run takes packets until ctx ends. While the hub has no packets, the hub sends heartbeats. If no
// heartbeat comes, the hub has forgotten the request, for example because a node of the cluster has
// died. Then run asks again.
func (r *receiver) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	r.pause = firstPause
	for {
		select {
		case <-ctx.Done():
			r.giveBack()
			return
		case <-r.fresh:
			r.asked, r.pause = 0, firstPause
		case <-timer.C:
			r.asked = 0
		case m := <-r.msgs:
			if again := r.take(ctx, m); !again {
				timer.Reset(r.pause)
				r.pause = min(2*r.pause, lastPause)
				continue
			}
		}
		if r.asked <= batch/2 && r.conn.IsConnected() && r.ask() != nil {
			timer.Reset(firstPause)
			continue
		}
		timer.Reset(5 * beat / 2)
	}
}

// ask asks the hub for more packets, so that all open requests together ask for batch packets.
func (r *receiver) ask() error {
	want, err := json.Marshal(map[string]any{"batch": batch - r.asked, "max_bytes": batchBytes, "expires": batchTime, "idle_heartbeat": beat})
	if err != nil {
		return err
	}
	r.asked = batch
	return r.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+StreamName(r.cfg.Access.Host)+"."+consumer, r.inbox(), want)
}

// take handles a packet, or a status message of the hub. It returns false if the hub refuses to
// send mail to this host; then run waits before it asks again.
func (r *receiver) take(ctx context.Context, m *client.Msg) bool {
	status := m.Header.Get("Status")
	if m.Reply != "" || status == "" {
		r.asked = max(r.asked-1, 0)
		r.pause = firstPause
		r.readable("")
		r.packet(ctx, m)
		return true
	}
	if status == "100" {
		r.pause = firstPause
		r.readable("")
		return true
	}
	if n, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages")); err == nil && status != "503" { // a request has ended, with n packets not sent
		r.asked = max(r.asked-n, 0)
		return true
	}
	r.asked = 0
	text := "the hub has no stream for this host"
	if status != "503" {
		text = "the hub gives this host no mail: " + m.Header.Get("Description")
	}
	r.readable(text)
	return false
}

// readable records the reason why no packets are received; "" means that they can be received.
func (r *receiver) readable(err string) {
	r.mu.Lock()
	news := r.unread != err
	r.unread = err
	r.mu.Unlock()
	if !news {
		return
	}
	if err != "" {
		r.cfg.Log.Warn("no mail comes from the hub", "hub", r.cfg.Access.URL, "err", err)
	}
	daemon.Poke(r.changed)
}

// packet gives a packet to the handler, and tells the hub to forget the packet, or to send it again
// later.
func (r *receiver) packet(ctx context.Context, m *client.Msg) {
	err := r.handler.Packet(ctx, m.Data)
	answer := "+ACK"
	if err != nil && ctx.Err() != nil {
		answer = "-NAK"
	} else if err != nil {
		tries := uint64(1)
		if meta, merr := m.Metadata(); merr == nil {
			tries = meta.NumDelivered
		}
		delay := min(firstPause<<min(tries-1, 10), lastDelay)
		answer = `-NAK {"delay": ` + strconv.FormatInt(int64(delay), 10) + "}"
		r.cfg.Log.Warn("a packet was not taken", "hub", r.cfg.Access.URL, "try", tries, "err", err)
	}
	if err := r.conn.Publish(m.Reply, []byte(answer)); err != nil {
		r.cfg.Log.Debug("a packet comes again", "err", err)
	}
}

// giveBack rejects the packets that still wait here. So the hub sends them again as soon as this
// host is back, and not after half a minute.
func (r *receiver) giveBack() {
	for {
		select {
		case m := <-r.msgs:
			if m.Reply != "" {
				r.conn.Publish(m.Reply, []byte("-NAK")) // if this answer is lost, the packet also comes again, but later
			}
		default:
			return
		}
	}
}
