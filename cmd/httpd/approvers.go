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

// approvers attend, in each root with a sender that may decide, to the permission requests there: so clients are asked to tell of their
// permission dialogs. The page attends itself while it is open.
type approvers struct {
	h    *Host
	list *senders.List
	held map[string]attending // by root
}

// attending is a root that is attended, see permission.Store.Attend.
type attending struct {
	dir   *atomicfile.Dir
	leave func() error
}

// approversGap is how soon a change of the list is seen, at the most.
const approversGap = 200 * time.Millisecond

// attendForSenders goes on until ctx ends; wait waits until no root is attended any more.
func (h *Host) attendForSenders(ctx context.Context, list *senders.List) (wait func()) {
	p := &approvers{h: h, list: list, held: map[string]attending{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.keep(nil)
		changes := watch.NewChanges()
		defer changes.Close()
		// The directory: the list may not be there yet.
		survive.Loop(ctx, h.Log, "attend for senders", func() {
			changes.Each(ctx, approversGap, func() ([]string, time.Duration, error) {
				p.update()
				return []string{h.Files.Path()}, 0, nil
			})
		})
	}()
	return func() { <-done }
}

// update attends where a sender may decide, and nowhere else.
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
		dir, err := atomicfile.Open(root) // never made: it may come back
		if err != nil {
			continue
		}
		leave, err := permission.Open(dir, time.Now).Attend()
		if err != nil {
			p.h.Log.Warn("clients are not asked for their permission dialogs", "root", root, "err", err)
			dir.Close()
			continue
		}
		p.held[root] = attending{dir, leave}
	}
}

// keep leaves all roots but these, and those that were made anew.
func (p *approvers) keep(wanted map[string]bool) {
	for root, one := range p.held {
		if wanted[root] && !one.dir.Replaced() {
			continue
		}
		one.leave()
		one.dir.Close()
		delete(p.held, root)
	}
}
