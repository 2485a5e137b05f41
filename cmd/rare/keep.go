package rare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/internal/proc"
	"c2c/sessions/callers"
)

// keep acts on due deadlines in a root, unless a lasting process such as a server does that.
func (c *call) keep(ctx context.Context, args []string) error {
	done := c.Text("done")
	words, err := c.Parse(args)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("%w: in which root?", cli.ErrUsage)
	}
	if err := cli.NeedRoot(words[0], "c2c keep", words[0]); err != nil {
		return err
	}
	b, err := broker.Open(broker.ConfigOf(c.Getenv, words[0], c.log()))
	if err != nil {
		return err
	}
	defer b.Close()
	show := func(ctx context.Context, text string) error { return proc.ShowOnDesktop(ctx, c.Getenv, text) }
	if *done != "" {
		s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: *done, Getenv: c.Getenv})
		if err != nil {
			return err
		}
		return owed.SaidDone(ctx, b.Registry, s, show)
	}
	err = owed.CheckOnce(ctx, b.Registry, show)
	if err != nil && !errors.Is(err, syscall.EROFS) && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("check deadlines: %w", err)
	}
	if err == nil {
		if err := broker.StartRelay(b); err != nil && !errors.Is(err, broker.ErrRelayStopped) {
			b.Log.Warn("the relay is not started; c2c relay status says why", "err", err)
		}
	}
	return nil
}
