package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func (c *call) printSession(s sessions.Session) error {
	return c.show(map[string]string{"session_id": s.ID, "alias": s.Alias}, func() {
		c.printf("%s (session %s)\n", s.Alias, s.ID)
	})
}

func whoami(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		s, err := c.attach(ctx)
		if err != nil {
			return err
		}
		shown, err := c.b.Look(s)
		if err != nil {
			return err
		}
		shown.KnownBy, shown.StartedBy = s.KnownBy, c.b.AliasOf(ctx, s.Facts.StartedBy)
		return c.show(shown, func() {
			c.printf("%s (session %s)\n", s.Alias, s.ID)
			if s.State == sessions.Person {
				c.printf("you, at a terminal; c2c register gives you another name\n")
			}
			for _, line := range shown.Lines(time.Now()) {
				c.printf("%s\n", line)
			}
		})
	}
}

func register(c *call, f *cli.Flags) action {
	role := ""
	f.Func("role", func(s string) error {
		role = s
		return sessions.CheckRole(s)
	})
	var unattended *bool
	f.Func("unattended", func(s string) error {
		on, err := strconv.ParseBool(s)
		unattended = &on
		return err
	})
	return func(ctx context.Context) error {
		if len(c.words) > 1 {
			return fmt.Errorf("%w: one alias at most", errUsage)
		}
		if len(c.words) == 1 {
			if err := sessions.CheckAlias(c.words[0]); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
		}
		was, _ := callers.Resolve(ctx, c.b.Registry, c.caller(c.session))
		s, err := c.b.Register(ctx, c.caller(c.session), strings.Join(c.words, ""))
		if err == nil {
			err = c.b.Describe(ctx, s.ID, role)
		}
		if err == nil && unattended != nil {
			err = c.b.SetUnattended(ctx, s.ID, *unattended)
		}
		if err != nil {
			return err
		}
		if err = c.printSession(s); was.ID != s.ID || was.Alias == s.Alias || c.json {
			return err
		}
		c.printf("%s until now", mail.Visible(was.Alias, ""))
		if s.State == sessions.Person {
			c.printf("; all your terminals in this project have the new name")
		}
		c.printf("\n")
		return err
	}
}

// dnd shows or changes whether c2c may wake a session.
func dnd(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		if len(c.words) > 1 {
			return fmt.Errorf("%w: give on or off, or nothing to see the present state; for another session add --session-id and its name", errUsage)
		}
		s, err := c.attach(ctx)
		if err == nil && len(c.words) == 1 {
			s.Quiet = c.words[0] == "on"
			err = c.b.SetQuiet(ctx, s.ID, s.Quiet)
		}
		if err != nil {
			return err
		}
		return c.show(map[string]any{"session_id": s.ID, "alias": s.Alias, "dnd": s.Quiet}, func() {
			state := "off: mail wakes it"
			if s.Quiet {
				state = "on: mail waits for its next turn"
			}
			if s.Quiet && s.State == sessions.Person {
				state = "on; nothing wakes a person anyway. For a session: c2c dnd on --session-id ALIAS"
			}
			c.printf("%s: do not disturb is %s\n", s.Alias, state)
		})
	}
}
