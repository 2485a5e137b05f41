package nats

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	client "github.com/nats-io/nats.go"

	"c2c/relay"
)

const (
	batch      = 16              // the number of packets in one request to the hub
	batchBytes = 4 << 20         // the size of these packets together
	batchTime  = 5 * time.Minute // how long a request is valid
	beat       = 10 * time.Second
	mostQueued = 256

	lastDelay = 5 * time.Minute // the longest time until a packet that was not taken comes again
	mostTries = 30              // after so many tries the hub drops a packet; its sender repeats it until it has a receipt
)

// receiver takes the packets of this host from the hub, one by one.
type receiver struct {
	*Carrier
	conn    *client.Conn
	handler relay.Handler
	fresh   chan struct{} // there is a new connection
	msgs    chan *client.Msg

	asked int // packets that the hub may still send for our requests
	pause time.Duration
}

func (r *receiver) inbox() string { return r.cfg.Access.inbox() + ".mail" }

// run takes packets until ctx ends. While the hub has no packets, it sends heartbeats. If no heartbeat comes, the hub has forgotten the
// request, as when the node of a cluster that had the request has died.
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

// ask asks the hub for packets, so that batch packets are requested in total.
func (r *receiver) ask() error {
	want, err := json.Marshal(map[string]any{"batch": batch - r.asked, "max_bytes": batchBytes, "expires": batchTime, "idle_heartbeat": beat})
	if err != nil {
		return err
	}
	r.asked = batch
	return r.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+StreamName(r.cfg.Access.Host)+"."+consumer, r.inbox(), want)
}

// take handles a packet, or a status message of the hub. It returns false if the hub sends no mail to this host; then run waits before
// it asks again.
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
	if n, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages")); err == nil && status != "503" { // a request has ended
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

// readable records why nothing is received; "" means that packets can be received.
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
	poke(r.changed)
}

// packet hands a packet to the handler, and tells the hub whether the hub may forget the packet.
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
		if answer = `-NAK {"delay": ` + strconv.FormatInt(int64(delay), 10) + "}"; tries >= mostTries {
			answer = "+TERM"
		}
		r.cfg.Log.Warn("a packet was not taken", "hub", r.cfg.Access.URL, "try", tries, "err", err)
	}
	if err := r.conn.Publish(m.Reply, []byte(answer)); err != nil {
		r.cfg.Log.Debug("a packet comes again", "err", err)
	}
}

// giveBack makes the hub offer the packets that were not handled again as soon as this host is back.
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
