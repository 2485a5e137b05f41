package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
)

// obligations shows the answers that a session owes, and the answers that others owe to the
// session. A person sees those of all sessions.
func obligations(c *call, f *cli.Flags) action {
	all := f.Bool("all")
	return func(ctx context.Context) error {
		s, err := c.acting(ctx)
		if err != nil {
			return err
		}
		c.meetDeadlines(ctx)
		list, err := broker.Obligations(ctx, c.b.Registry, s, *all)
		if err != nil && len(list) == 0 {
			return err
		}
		for i := range list {
			if list[i].Side != broker.SideOwed && !s.IsProvenPerson() {
				list[i].Words = "" // an agent may see the text of others only in an envelope
			}
		}
		return errors.Join(err, c.show(append([]broker.Obligation{}, list...), func() { c.printObligations(list, time.Now()) }))
	}
}

// printObligations prints what the session owes, then what others owe it, then the rest. In each
// part it keeps the order of the list.
func (c *call) printObligations(list []broker.Obligation, now time.Time) {
	if len(list) == 0 {
		c.printf("(no obligations)\n")
	}
	for _, side := range [][2]string{{broker.SideOwe, "You owe:"}, {broker.SideOwed, "You are owed:"}, {broker.SideOther, "Between others:"}} {
		head := side[1]
		for _, o := range list {
			if o.Side != side[0] {
				continue
			}
			if head != "" {
				c.printf("%s\n", head)
				head = ""
			}
			c.printObligation(o, now)
		}
	}
}

func (c *call) printObligation(o broker.Obligation, now time.Time) {
	who := "of " + nameOf(o.From)
	if o.KnownBy == mail.ByClaim {
		who += " (" + mail.ByClaim + ")"
	}
	switch o.Side {
	case broker.SideOwed:
		who = "to " + nameOf(o.To)
	case broker.SideOther:
		who += " to " + nameOf(o.To)
	}
	words := ""
	if o.Words != "" {
		words = "  " + mail.Visible(o.Words, "")
	}
	c.printf("  %s  %s %s, %s%s\n", mail.ShortID(o.ID), o.Kind, who, stateOf(o, now), words)
	if o.Why != "" {
		c.printf("    %s\n", mail.Visible(o.Why, ""))
	}
	if o.Do != "" {
		c.printf("    %s\n", mail.Visible(o.Do, ""))
	}
}

// stateOf describes the state of an obligation.
func stateOf(o broker.Obligation, now time.Time) string {
	urgency := ""
	if o.Bucket != mail.Normal {
		urgency = o.Bucket + ", "
	}
	switch o.State {
	case owed.StillOpen:
		return urgency + "due in " + format.Age(o.Due.Sub(now))
	case owed.Overdue:
		text := urgency + "overdue for " + format.Age(now.Sub(o.Due))
		if o.Reminders > 0 {
			text += ", " + format.Count(o.Reminders, "reminder", "reminders")
		}
		return text
	}
	text := strings.ReplaceAll(o.State, "-", " ") + " " + clock(o.ClosedAt)
	if o.ClosedAt.After(o.Due) {
		text += ", late"
	}
	return text
}
