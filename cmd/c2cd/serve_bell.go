package main

import (
	"context"

	"c2c/broker/mcpserver"
	"c2c/broker/ringer"
	"c2c/wake"
)

// bells rings the sessions that have a stream open, with one ringer for each root that has such sessions.
type bells struct {
	d       *httpDaemon
	tools   *mcpserver.HTTP
	running map[string]func() // what stops the ringer of a root
}

// ringStreams rings until ctx ends; wait waits until nobody does any more.
func (d *httpDaemon) ringStreams(ctx context.Context, tools *mcpserver.HTTP) (wait func()) {
	b := &bells{d: d, tools: tools, running: map[string]func(){}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.stop(nil)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tools.Moved():
				b.update(ctx)
			}
		}
	}()
	return func() { <-done }
}

// update has a ringer for each root with streams, and for no other: each holds a watch of the system, of which a user has few.
func (b *bells) update(ctx context.Context) {
	open := map[string]bool{}
	for _, root := range b.tools.Roots() {
		if len(b.tools.Streams(root)) > 0 {
			open[root] = true
		}
	}
	b.stop(open)
	for root := range open {
		if b.running[root] == nil {
			b.running[root] = b.start(ctx, root)
		}
	}
}

func (b *bells) start(ctx context.Context, root string) (stop func()) {
	r := b.d.a.ringer(ringer.Streams(func() map[string]wake.Doorbell { return b.tools.Streams(root) }, b.tools.Changed(root)))
	r.Root = func() (string, error) { return root, nil }
	return r.Start(ctx)
}

// stop ends the ringers of all roots but these.
func (b *bells) stop(but map[string]bool) {
	for root, stop := range b.running {
		if !but[root] {
			stop()
			delete(b.running, root)
		}
	}
}
