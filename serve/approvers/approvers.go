// Package approvers calls permission.Store.Attend in each root with a sender that may decide on permission requests. Therefore clients report
// their permission dialogs in this root. An open page calls Attend itself.
package approvers

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/permission"
	"c2c/process/survive"
	"c2c/senders"
	"c2c/wake/watch"
)

// approvers is where Start has called Attend.
type approvers struct {
	list *senders.List
	log  *slog.Logger
	held map[string]attending // by root
}

// attending is a root in which Attend was called. The function leave, which Attend has returned, ends the effect of that call.
type attending struct {
	dir   *atomicfile.Dir
	leave func() error
}

// gap is the shortest time between two reads of the list of senders.
const gap = 200 * time.Millisecond

func newApprovers(list *senders.List, log *slog.Logger) *approvers {
	return &approvers{list: list, log: log, held: map[string]attending{}}
}

// Start calls Attend in these roots until ctx ends. The argument files is the directory with the list. The function wait returns when
// Start has left all roots.
func Start(ctx context.Context, list *senders.List, files string, log *slog.Logger) (wait func()) {
	p := newApprovers(list, log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.set(nil)
		changes := watch.NewChanges()
		defer changes.Close()
		// Watch the directory: the list may not exist yet.
		survive.Loop(ctx, log, "attend for senders", func() {
			changes.Each(ctx, gap, func() ([]string, time.Duration, error) {
				p.update()
				return []string{files}, 0, nil
			})
		})
	}()
	return func() { <-done }
}

// update calls Attend in the roots with a sender that may decide, and leaves all other roots. The next update tries again what has failed.
func (p *approvers) update() {
	all, err := p.list.All()
	if err != nil {
		p.log.Warn("nobody outside can decide", "err", err)
	}
	wanted := map[string]bool{}
	for _, s := range all {
		if s.Verdicts {
			wanted[s.Root] = true
		}
	}
	p.set(wanted)
}

// set calls Attend in the wanted roots, and leaves those that are held and not wanted.
func (p *approvers) set(wanted map[string]bool) {
	roots := slices.AppendSeq(slices.Collect(maps.Keys(wanted)), maps.Keys(p.held))
	slices.Sort(roots)
	for _, root := range slices.Compact(roots) {
		one, err := follow(root, p.held[root], wanted[root])
		if p.held[root] = one; one.dir == nil {
			delete(p.held, root)
		}
		if err != nil {
			p.log.Warn("clients may not report their permission dialogs as they should", "root", root, "err", err)
		}
	}
}

// follow leaves a root that is not wanted, or that was removed and made again, and calls Attend in a wanted one. The result is zero if Attend
// was not called.
func follow(root string, one attending, wanted bool) (attending, error) {
	if one.dir != nil {
		if replaced, err := one.dir.Replaced(); wanted && !replaced && err == nil {
			return one, nil
		}
		one.leave()
		one.dir.Close()
	}
	if !wanted {
		return attending{}, nil
	}
	dir, err := atomicfile.Open(root) // do not make a missing root; it may appear again
	if err != nil {
		return attending{}, nil
	}
	leave, err := permission.Open(dir, time.Now).Attend()
	if err != nil {
		dir.Close()
		return attending{}, err
	}
	return attending{dir, leave}, nil
}
