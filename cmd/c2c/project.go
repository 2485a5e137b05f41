package main

import (
	"context"
	"fmt"
	"strings"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/project"
)

// projectShown is the answer of c2c project.
type projectShown struct {
	Project string   `json:"project"`
	Address string   `json:"address"` // what stands after the @ in another project; "" if none can write here
	Root    string   `json:"root"`
	Allows  []string `json:"allows"` // the projects whose agents may write here
}

// projectVerb shows the project, lets another one write to it or no longer, or splits the clone.
func projectVerb(c *call, f *cli.Flags) action {
	undo := f.Bool("undo")
	return func(ctx context.Context) error {
		verb, names := "", c.words
		if len(names) > 0 {
			verb, names = names[0], names[1:]
		}
		wants := map[string]int{"": 0, "allow": 1, "deny": 1, "split": 0}
		if n, known := wants[verb]; !known || len(names) != n || *undo && verb != "split" {
			return fmt.Errorf("%w: want allow NAME, deny NAME, split, split --undo or merge", errUsage)
		}
		if verb != "" {
			s, err := c.b.Attach(ctx, c.caller(""))
			if err := cli.OnlyPerson("decides what a project shares", s, err); err != nil {
				return err
			}
		}
		switch verb {
		case "split":
			if err := broker.Split(c.getenv, c.cwd, !*undo); err != nil {
				return err
			}
			if err := c.reopen(); err != nil {
				return err
			}
		case "allow", "deny":
			p, err := cli.FindProject(c.getenv, c.cwd, names[0])
			if err != nil {
				return err
			}
			if err := broker.AllowProject(c.b, p.Root, verb == "allow"); err != nil {
				return err
			}
		}
		if err := c.showProject(); err != nil || verb != "split" || c.json {
			return err
		}
		text := "It shares no mail any more with the other clones: what came until now stays with them. c2c project split --undo undoes it."
		if *undo {
			text = "It shares its mail with the other clones again. c2c doctor shows what the time in between has left."
		}
		c.printf("%s\n", text)
		return nil
	}
}

// reopen opens the root that this directory has now.
func (c *call) reopen() error {
	b, err := broker.OpenHere(c.getenv, c.cwd, broker.Config{Log: c.log()})
	if err != nil {
		return err
	}
	c.b.Close()
	c.b = b
	return nil
}

func (c *call) showProject() error {
	allows, err := broker.Allowed(c.b)
	if err != nil {
		return err
	}
	shown := projectShown{cli.NameOf(c.getenv, c.b.Root()), "", c.b.Root(), append([]string{}, allows...)}
	if project.ID(c.b.Root()) != "" {
		shown.Address = c.b.Label()
	}
	return c.show(shown, func() {
		c.printf("%s\n", mail.Visible(shown.Project, ""))
		if shown.Address == "" {
			c.printf("C2C_MCP_BROKER_ROOT names its root, so no other project can write here.\n")
			return
		}
		c.printf("Other projects write to its sessions as NAME@%s.\n", shown.Address)
		if len(allows) == 0 {
			c.printf("Agents may not; c2c project allow NAME lets those of one project.\n")
			return
		}
		c.printf("Agents of these may: %s.\n", strings.Join(allows, ", "))
	})
}
