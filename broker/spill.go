package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"c2c/inbox"
)

// takeSpills takes the mail that an old version has left beside the mailboxes of the root (package inbox, TakeSpill). A mailbox that cannot
// be looked into stops no other.
func (b *Broker) takeSpills(ctx context.Context) error {
	names, err := b.root.Names()
	if err != nil {
		return err
	}
	var errs []error
	for _, sid := range inbox.Spills(names) {
		box, err := b.Mailbox(sid)
		n := 0
		if err == nil {
			n, err = box.TakeSpill(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mail of an old version for session %q: %w", sid, err))
		}
		if n > 0 {
			b.record(ctx, "spill", Note{"session_id", sid}, Note{"messages", strconv.Itoa(n)})
		}
	}
	return errors.Join(errs...)
}

// takeSpills does so at the first look and then every ten minutes: an old version may still run.
func (k *Keeper) takeSpills(ctx context.Context) {
	now := k.b.now()
	if now.Before(k.spills) {
		return
	}
	k.spills = now.Add(lookEvery)
	if err := k.b.takeSpills(ctx); err != nil && ctx.Err() == nil {
		k.b.log.Warn("mail of an old version waits", "err", err)
	}
}
