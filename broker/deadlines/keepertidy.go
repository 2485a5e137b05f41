package deadlines

import (
	"context"
	"errors"
	"io/fs"

	"c2c/broker/moves"
	"c2c/sessions/due"
)

// takeSpills does so at the first look and then every ten minutes: an old version may still run.
func (k *Keeper) takeSpills(ctx context.Context) {
	now := k.reg.Now()
	if now.Before(k.spills) {
		return
	}
	k.spills = now.Add(due.LookEvery)
	if err := moves.TakeSpills(ctx, k.reg); err != nil && ctx.Err() == nil {
		k.reg.Log.Warn("mail of an old version waits", "err", err)
	}
}

// tidy tidies the root when it is time. The time of the last time is that of the Keeper's lock file, so it holds for the
// Keepers of other processes, too.
func (k *Keeper) tidy(ctx context.Context) {
	b, now := k.reg, k.reg.Now()
	if k.Tidies.IsZero() {
		if info, err := b.Dir().Stat(KeeperLock); err == nil && !info.ModTime().After(now) {
			k.Tidies = info.ModTime().Add(moves.TidyEvery)
		}
	}
	if now.Before(k.Tidies) {
		return
	}
	more, err := moves.Tidy(ctx, b)
	if err != nil && ctx.Err() == nil {
		b.Log.Warn("not all of the root is tidied", "err", err)
	}
	if k.Tidies = now.Add(moves.TidyEvery); more || err != nil {
		k.Tidies = now.Add(moves.TidyAgain)
	} else if err := b.Dir().Touch(KeeperLock, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Log.Warn("when the root was tidied is not recorded", "err", err)
	}
}
