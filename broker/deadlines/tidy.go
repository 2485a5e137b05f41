package deadlines

import (
	"context"
	"errors"
	"io/fs"

	"c2c/broker/moves"
)

// tidy tidies the root if this is due. The modification time of LockName shows when the root was last tidied, so Checkers of other
// processes know it, too.
func (c *Checker) tidy(ctx context.Context) {
	b, now := c.reg, c.reg.Now()
	if c.Tidies.IsZero() {
		if info, err := b.Dir().Stat(LockName); err == nil && !info.ModTime().After(now) {
			c.Tidies = info.ModTime().Add(moves.TidyEvery)
		}
	}
	if now.Before(c.Tidies) {
		return
	}
	more, err := moves.Tidy(ctx, b)
	if err != nil && ctx.Err() == nil {
		b.Log.Warn("the root was tidied only in part", "err", err)
	}
	if c.Tidies = now.Add(moves.TidyEvery); more || err != nil {
		c.Tidies = now.Add(moves.TidyAgain)
	} else if err := b.Dir().Touch(LockName, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Log.Warn("the time of tidying was not recorded", "err", err)
	}
}
