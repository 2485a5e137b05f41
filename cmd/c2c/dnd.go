package main

import (
	"context"
	"flag"
	"fmt"

	"c2c/broker"
)

// dnd shows or changes whether a session may be woken.
func dnd(fs *flag.FlagSet) action {
	sid := fs.String("session-id", "", "`session` or alias, if not this one")
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app, args []string) error {
		if len(args) > 1 || len(args) == 1 && args[0] != "on" && args[0] != "off" {
			return fmt.Errorf("%w: on or off", errUsage)
		}
		return a.with(ctx, func(ctx context.Context, b *broker.Broker) error {
			s, err := b.Resolve(ctx, a.caller(*sid))
			if err != nil {
				return err
			}
			if len(args) == 1 {
				s.Quiet = args[0] == "on"
				if err := b.SetQuiet(ctx, s.ID, s.Quiet); err != nil {
					return err
				}
			}
			if *asJSON {
				return a.json(map[string]any{"session_id": s.ID, "alias": s.Alias, "dnd": s.Quiet})
			}
			state := "off: mail wakes it"
			if s.Quiet {
				state = "on: mail waits for its next turn"
			}
			a.printf("%s: do not disturb is %s\n", s.Alias, state)
			return nil
		})
	}
}
