package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
)

func list(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		c.keep(ctx)
		rows, err := c.b.List(ctx)
		if err != nil {
			return err
		}
		var broken []error // mailboxes that could not be looked into
		for _, r := range rows {
			if r.Error != "" {
				broken = append(broken, fmt.Errorf("look into the mailbox of %s: %s", r.Alias, r.Error))
			}
		}
		err = c.show(rows, func() { c.printList(rows) })
		return errors.Join(append(broken, err)...)
	}
}

func (c *call) printList(rows []broker.Listed) {
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ALIAS\tSTATE\tMAIL\tCLIENT\tRING\tSESSION\tROLE")
	for _, r := range rows {
		mail, ring := "-", "-"
		if r.Waiting {
			mail = "waits"
		}
		if r.Error != "" {
			mail = "broken"
		}
		if r.LastRing.Outcome != "" {
			ring = r.LastRing.Outcome + " " + r.LastRing.Method
		}
		row := []string{r.Alias, string(r.State), mail, r.Client, ring, r.ID, r.Role}
		for i, cell := range row {
			row[i] = inbox.Visible(cell, "")
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
}

func (c *call) printSession(s broker.Session) error {
	return c.show(map[string]string{"session_id": s.ID, "alias": s.Alias}, func() {
		c.printf("%s (session %s)\n", s.Alias, s.ID)
	})
}

func whoami(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		s, err := c.attach(ctx, c.session)
		if err != nil {
			return err
		}
		return c.printSession(s)
	}
}

func register(c *call, f *cli.Flags) action {
	role := f.Text("role")
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
			if err := broker.CheckAlias(c.words[0]); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
		}
		s, err := c.b.Register(ctx, c.caller(c.session), strings.Join(c.words, ""))
		if err == nil {
			err = c.b.Describe(ctx, s.ID, *role)
		}
		if err == nil && unattended != nil {
			err = c.b.SetUnattended(ctx, s.ID, *unattended)
		}
		if err != nil {
			return err
		}
		return c.printSession(s)
	}
}

// dnd shows or changes whether a session may be woken.
func dnd(c *call, _ *cli.Flags) action {
	return func(ctx context.Context) error {
		if len(c.words) > 1 || len(c.words) == 1 && c.words[0] != "on" && c.words[0] != "off" {
			return fmt.Errorf("%w: on or off", errUsage)
		}
		s, err := c.attach(ctx, c.session)
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
			c.printf("%s: do not disturb is %s\n", s.Alias, state)
		})
	}
}
