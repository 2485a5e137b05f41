package rare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"c2c/broker"
	"c2c/broker/deadlines"
	"c2c/cmd/cli"
)

// keep acts on due deadlines in a root, if no server does.
func (c *call) keep(ctx context.Context, args []string) error {
	words, err := c.Parse(args)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("%w: in which root?", cli.ErrUsage)
	}
	if err := cli.NeedRoot(words[0], ""); err != nil {
		return err
	}
	b, err := broker.Open(broker.ConfigOf(c.Getenv, words[0], c.log()))
	if err != nil {
		return err
	}
	defer b.Close()
	if err := deadlines.CheckOnce(ctx, b.Registry); err != nil && !errors.Is(err, syscall.EROFS) && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("look after what messages are owed: %w", err)
	}
	return nil
}
