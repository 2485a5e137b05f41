package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// projectRows is a project in the list of all projects.
type projectRows struct {
	Name     string            `json:"project"`
	Root     string            `json:"root"`
	Here     bool              `json:"here,omitempty"` // the project of the caller
	Sessions []sessions.Listed `json:"sessions"`
}

// listEverywhere lists the sessions of all projects of this user, and of the machines that are linked
// now. Sessions that need their person are first, and so are their projects.
func (c *call) listEverywhere(ctx context.Context, all bool) error {
	own, _, _ := broker.RootFor(callers.Caller{Getenv: c.getenv}, c.cwd) // without a directory there is no own project
	projects := cli.Projects(c.getenv)
	isOwn := func(p cli.Project) bool { return p.Root == own }
	if _, err := os.Stat(own); err == nil && !slices.ContainsFunc(projects, isOwn) {
		projects = append(projects, cli.Project{Root: own, Name: cli.AtHome(c.getenv, own)})
	}
	groups := []projectRows{}
	var broken []error
	for _, p := range projects {
		rows, err := c.rowsOf(ctx, p.Root)
		if err != nil {
			broken = append(broken, fmt.Errorf("list the sessions of %s: %w", p.Name, err))
		}
		groups = append(groups, projectRows{p.Name, p.Root, isOwn(p), append([]sessions.Listed{}, rows...)})
	}
	slices.SortStableFunc(groups, func(a, b projectRows) int {
		return cmp.Or(a.rank()-b.rank(), cmp.Compare(a.Name, b.Name))
	})
	return errors.Join(append(broken, c.show(groups, func() { c.printEverywhere(groups, all) }))...)
}

func (c *call) rowsOf(ctx context.Context, root string) ([]sessions.Listed, error) {
	b, err := broker.Open(broker.ConfigOf(c.getenv, root, c.log()))
	if err != nil {
		return nil, err
	}
	defer b.Close()
	rows, err := b.List(ctx)
	for _, r := range rows {
		if r.Error != "" {
			err = errors.Join(err, fmt.Errorf("read the mailbox of %s: %s", r.Alias, r.Error))
		}
	}
	slices.SortStableFunc(rows, func(a, b sessions.Listed) int { return rankOf(a) - rankOf(b) })
	remote, rerr := b.RemoteSessions()
	return append(rows, remote...), errors.Join(err, rerr)
}

// rankOf is the place of a session among those of all projects: first what needs its person (a
// dialog, or mail for the person), last what has ended.
func rankOf(r sessions.Listed) int {
	switch {
	case r.Now.Does == sessions.Waiting, r.State == sessions.Person && r.Waiting:
		return 0
	case r.State == sessions.Absent:
		return 3
	case r.State == sessions.Person, r.State == sessions.External:
		return 2 // they tell nothing of what runs
	}
	return 1
}

// rank is that of the project's first session; the caller's own project comes before its like.
func (p projectRows) rank() int {
	least := 4
	for _, r := range p.Sessions {
		least = min(least, rankOf(r))
	}
	if p.Here {
		return 2 * least
	}
	return 2*least + 1
}

// printEverywhere prints a table for each project in which something runs or mail waits for the
// person. If all is true, it prints all projects.
func (c *call) printEverywhere(groups []projectRows, all bool) {
	now, folded, ended, withMail := time.Now(), 0, 0, 0
	for i, p := range groups {
		if !all && p.rank() >= 4 {
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
