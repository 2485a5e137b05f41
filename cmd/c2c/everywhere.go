package main

import (
	"context"
	"errors"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
)

// listEverywhere lists the sessions of all projects of this user.
func (c *call) listEverywhere(ctx context.Context, all bool) error {
	if err := c.refuseAgent("sees all projects"); err != nil {
		return err
	}
	groups, err := cli.Everywhere(ctx, c.getenv, c.cwd, c.log())
	return errors.Join(err, c.show(groups, func() { c.printEverywhere(groups, all) }))
}

// printEverywhere prints a table for each project in which something runs or mail waits for the
// person. If all is true, it prints all projects.
func (c *call) printEverywhere(groups []cli.ProjectRows, all bool) {
	folded := 0
	for i, p := range groups {
		if !all && p.IsQuiet() {
			folded++
			continue
		}
		here := ""
		if p.Here {
			here = ", this project"
		}
		if i > 0 {
			c.printf("\n")
		}
		c.printf("%s%s\n", mail.Visible(p.Name, ""), here)
		if len(p.Sessions) == 0 {
			c.printf("(no sessions)\n")
			continue
		}
		c.printList(p.Sessions, all, "c2c list --everywhere --all", time.Now())
	}
	switch {
	case folded == len(groups):
		c.printf("(no session runs in any project; %s)\n", cli.HowToBegin())
	case folded > 0:
		c.printf("\nNot shown: %s in which nothing runs. c2c list --everywhere --all shows all.\n", format.Count(folded, "project", "projects"))
	}
}
