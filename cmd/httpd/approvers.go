package httpd

import (
	"context"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/permission"
	"c2c/process/survive"
	"c2c/senders"
	"c2c/wake/watch"
)

// approvers calls permission.Store.Attend in each root with a sender that may decide on permission requests. Therefore clients report their
// permission dialogs in this root. An open page calls Attend itself.
type approvers struct {
	h    *Host
	list *senders.List
	held map[string]attending // by root
}

// attending is a root in which Attend was called. The function leave, which Attend has returned, ends the effect of that call.
type attending struct {
	dir   *atomicfile.Dir
	leave func() error
}

// approversGap is the shortest time between two reads of the list of senders.
const approversGap = 200 * time.Millisecond

// attendForSenders calls Attend in these roots until ctx ends. The function wait returns when it has left all roots.
func (h *Host) attendForSenders(ctx context.Context, list *senders.List) (wait func()) {
	p := &approvers{h: h, list: list, held: map[string]attending{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.keep(nil)
		changes := watch.NewChanges()
		defer changes.Close()
		// Watch the directory: the list may not exist yet.
		survive.Loop(ctx, h.Log, "attend for senders", func() {
			changes.Each(ctx, approversGap, func() ([]string, time.Duration, error) {
				p.update()
				return []string{h.Files.Path()}, 0, nil
			})
		})
	}()
	return func() { <-done }
}

// update calls Attend in the roots with a sender that may decide, and leaves all other roots.
func (p *approvers) update() {
	all, err := p.list.All()
	if err != nil {
		p.h.Log.Warn("nobody outside can decide", "err", err)
	}
	wanted := map[string]bool{}
	for _, s := range all {
		if s.Verdicts {
			wanted[s.Root] = true
		}
	}
	p.keep(wanted)
	for root := range wanted {
		if _, there := p.held[root]; there {
			continue
		}
		dir, err := atomicfile.Open(root) // do not make a missing root; it may appear again
		if err != nil {
			continue
		}
		leave, err := permission.Open(dir, time.Now).Attend()
		if err != nil {
			p.h.Log.Warn("clients do not report their permission dialogs", "root", root, "err", err)
			dir.Close()
			continue
		}
		p.held[root] = attending{dir, leave}
	}
}

// keep leaves all roots except those in wanted. It also leaves a root that was removed and made again.
func (p *approvers) keep(wanted map[string]bool) {
	for root, one := range p.held {
		if replaced, err := one.dir.Replaced(); wanted[root] && !replaced && err == nil {
			continue
		}
		one.leave()
		one.dir.Close()
		delete(p.held, root)
	}
}
