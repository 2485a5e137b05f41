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
	groups, err := cli.Everywhere(ctx, c.getenv, c.cwd, c.log())
	return errors.Join(err, c.show(groups, func() { c.printEverywhere(groups, all) }))
}

// printEverywhere prints a table for each project in which something runs or mail waits for the
// person. If all is true, it prints all projects.
func (c *call) printEverywhere(groups []cli.ProjectRows, all bool) {
	now, folded, ended, withMail := time.Now(), 0, 0, 0
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
		gone, left := c.printRows(p.Sessions, all, now)
		ended, withMail = ended+gone, withMail+left
	}
	if folded == len(groups) {
		c.printf("(no session runs in any project; %s)\n", cli.HowToBegin())
	}
	if ended+folded > 0 {
		c.printf("\nNot shown: %s that ended, %d of them with mail; %s in which nothing runs.\nc2c list --everywhere --all shows them.\n",
			format.Count(ended, "session", "sessions"), withMail, format.Count(folded, "project", "projects"))
	}
}
