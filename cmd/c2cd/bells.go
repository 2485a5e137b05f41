package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"c2c/cmd/ringer"
	"c2c/internal/daemon"
	"c2c/mcp"
	"c2c/sessions"
	"c2c/wake"
)

// bells rings sessions that have an open stream. It has one ringer for each root in which a client
// over HTTP has a mailbox. The ringer acts on the deadlines of its root even if no stream is open.
// An MCP server on stdio does the same.
type bells struct {
	h       *httpHost
	tools   *mcp.HTTP
	mu      sync.Mutex
	running map[string]rootBells
	results map[string]int // by outcome of a ring: how many messages had a ring with this outcome
}

// rootBells is the ringer of one root.
type rootBells struct {
	changed chan struct{} // makes it look at the bells of its root
	stop    func()        // returns when it has ended
}

func (h *httpHost) newBells(tools *mcp.HTTP) *bells {
	return &bells{h: h, tools: tools, running: map[string]rootBells{}, results: map[string]int{}}
}

// ringStreams starts to ring the sessions that have an open stream, and returns at once. The
// ringing ends with ctx. The function wait returns when all ringers have ended. The function
// measure writes the outcomes of the rings, for /metrics.
func (h *httpHost) ringStreams(ctx context.Context, tools *mcp.HTTP) (measure func(context.Context, io.Writer), wait func()) {
	b := h.newBells(tools)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.stop(nil)
		daemon.SurviveLoop(ctx, h.Log, "have a ringer for each root", func() { b.follow(ctx) })
	}()
	return b.write, func() { <-done }
}

func (b *bells) follow(ctx context.Context) {
	for {
		b.update(ctx)
		select {
		case <-ctx.Done():
			return
		case <-b.tools.Moved():
		}
	}
}

// update makes each ringer look at its bells. It starts a ringer for each root with mailboxes, and
// ends the ringers of other roots, because each ringer holds one of the user's few inotify watches.
func (b *bells) update(ctx context.Context) {
	for _, r := range b.running {
		daemon.Poke(r.changed)
	}
	open := map[string]bool{}
	for _, root := range b.tools.Roots() {
		open[root] = true
	}
	b.stop(open)
	for root := range open {
		if _, runs := b.running[root]; !runs {
			b.running[root] = b.start(ctx, root)
		}
	}
}

func (b *bells) start(ctx context.Context, root string) rootBells {
	changed := make(chan struct{}, 1)
	r := &ringer.Ringer{
		Scope:  ringer.Streams(func() map[string]wake.Doorbell { return b.tools.Streams(root) }, changed),
		Getenv: b.h.Getenv, Log: b.h.Log,
		Root:    func() (string, error) { return root, nil },
		Counted: b.count,
	}
	return rootBells{changed, r.Start(ctx)}
}

// stop ends all ringers, except those of the roots in keep.
func (b *bells) stop(keep map[string]bool) {
	for root, r := range b.running {
		if !keep[root] {
			r.stop()
			delete(b.running, root)
		}
	}
}

func (b *bells) count(outcome string, messages int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[sessions.ResultOf(outcome)] += messages
}

// write writes in Prometheus' format. It writes each result from the start, also 0, because
// Prometheus sees the first ring as an increase only if it has seen 0 before.
func (b *bells) write(_ context.Context, w io.Writer) {
	full, degraded := b.tools.Surfaces()
	fmt.Fprintf(w, "# HELP c2c_mcp_sessions MCP sessions over HTTP that have a mailbox.\n# TYPE c2c_mcp_sessions gauge\n"+
		"c2c_mcp_sessions{surface_support=%q} %d\nc2c_mcp_sessions{surface_support=%q} %d\n", sessions.SurfaceFull, full, sessions.SurfaceDegraded, degraded)
	fmt.Fprint(w, "# HELP c2c_doorbells_total Messages for sessions with a stream, by the outcome of the ring.\n# TYPE c2c_doorbells_total counter\n")
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, result := range []string{sessions.ResultRang, sessions.ResultCoalesced, sessions.ResultFiltered, sessions.ResultUncaptured, sessions.ResultFailed} {
		fmt.Fprintf(w, "c2c_doorbells_total{result=%q} %d\n", result, b.results[result])
	}
}
