package httpd

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"c2c/mcp"
	"c2c/process/survive"
	"c2c/ringer"
	"c2c/serve/shared"
	"c2c/sessions"
	"c2c/sessions/eventlog"
	"c2c/wake"
)

// bells rings sessions that have an open stream. It has one ringer for each root in which a client over HTTP has a mailbox. The ringer acts
// on the deadlines of its root even if no stream is open. An MCP server on stdio does the same.
type bells struct {
	h       *Host
	tools   *mcp.HTTP
	calls   *shared.Calls // those that stop a ringer, by root
	mu      sync.Mutex
	running map[string]*running // by root
	results map[string]int      // by outcome of a ring: how many messages had a ring with this outcome
}

// running is a ringer that runs.
type running struct {
	stop func() // returns when it has ended
	ends bool   // stop was called
}

func (h *Host) newBells(tools *mcp.HTTP) *bells {
	return &bells{h: h, tools: tools, calls: shared.New(maxHanging, h.Log), running: map[string]*running{}, results: map[string]int{}}
}

// ringStreams starts to ring the sessions that have an open stream, and returns at once. The ringing ends with ctx. The function wait
// returns when all ringers have ended. The function measure writes the outcomes of the rings, for /metrics.
func (h *Host) ringStreams(ctx context.Context, tools *mcp.HTTP) (measure func(context.Context, io.Writer), wait func()) {
	b := h.newBells(tools)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.stop(context.WithoutCancel(ctx), nil)
		survive.Loop(ctx, h.Log, "have a ringer for each root", func() { b.follow(ctx) })
	}()
	return b.write, func() { <-done }
}

func (b *bells) follow(ctx context.Context) {
	for {
		var again <-chan time.Time
		if !b.update(ctx) {
			again = time.After(stopAgain)
		}
		select {
		case <-ctx.Done():
			return
		case <-b.tools.Moved():
		case <-again:
		}
	}
}

// stopAgain is when follow looks again at ringers that have not ended.
const stopAgain = 5 * time.Second

// update starts a ringer for each root with mailboxes, and ends the ringers of other roots, because each ringer holds one of the user's
// few inotify watches. It returns false if some ringer has not ended yet. Until then its root gets no other one.
func (b *bells) update(ctx context.Context) bool {
	open := map[string]bool{}
	for _, root := range b.tools.Roots() {
		open[root] = true
	}
	brief, end := context.WithTimeout(ctx, patience)
	defer end()
	ended := b.stop(brief, open)
	b.mu.Lock()
	defer b.mu.Unlock()
	for root := range open {
		if b.running[root] == nil {
			b.running[root] = &running{stop: b.start(ctx, root)}
		}
	}
	return ended
}

func (b *bells) start(ctx context.Context, root string) (stop func()) {
	r := &ringer.Ringer{
		Scope:  ringer.Streams(func() map[string]wake.Doorbell { return b.tools.Streams(root) }, b.tools.Changed(root)),
		Getenv: b.h.Getenv, Log: b.h.Log,
		Root:    func() (string, error) { return root, nil },
		Counted: b.count,
	}
	return r.Start(ctx)
}

// stop ends all ringers, except those of the roots in keep. It returns whether they have ended before ctx ends.
func (b *bells) stop(ctx context.Context, keep map[string]bool) bool {
	ending, roots := map[string]*running{}, []string(nil)
	b.mu.Lock()
	for root, one := range b.running {
		if one.ends = one.ends || !keep[root]; one.ends {
			ending[root], roots = one, append(roots, root)
		}
	}
	b.mu.Unlock()
	failed := b.calls.Each(ctx, roots, func(root string) error {
		ending[root].stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, root)
		return nil
	})
	return len(failed) == 0
}

func (b *bells) count(outcome string, messages int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[eventlog.ResultOf(outcome)] += messages
}

// write writes in Prometheus' format. It writes each result from the start, also 0, because Prometheus sees the first ring as an increase
// only if it has seen 0 before.
func (b *bells) write(_ context.Context, w io.Writer) {
	full, degraded := b.tools.Surfaces()
	fmt.Fprintf(w, "# HELP c2c_mcp_sessions MCP sessions over HTTP that have a mailbox.\n# TYPE c2c_mcp_sessions gauge\n"+
		"c2c_mcp_sessions{surface_support=%q} %d\nc2c_mcp_sessions{surface_support=%q} %d\n", sessions.SurfaceFull, full, sessions.SurfaceDegraded, degraded)
	fmt.Fprint(w, "# HELP c2c_doorbells_total Messages for sessions with a stream, by the outcome of the ring.\n# TYPE c2c_doorbells_total counter\n")
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, result := range []string{eventlog.ResultRang, eventlog.ResultCoalesced, eventlog.ResultFiltered, eventlog.ResultUncaptured, eventlog.ResultFailed} {
		fmt.Fprintf(w, "c2c_doorbells_total{result=%q} %d\n", result, b.results[result])
	}
}
