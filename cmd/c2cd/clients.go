package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/install"
	"c2c/internal/format"
	"c2c/internal/proc"
	"c2c/sessions"
)

// checkClients checks each installed client. It reports a problem if there is no client, unless the
// root has sessions of some. If c2c is set up in none, that is only a warning, and no word after a
// c2c start, which needs no installation.
func (c checkup) checkClients(ctx context.Context) (report []format.Finding, err error) {
	o := c.o
	none := format.Finding{Status: format.Problem, Part: "clients"}
	if c.hasSessions(ctx, "") {
		none.Status = format.Warning
	}
	present, set := install.Detect(o), false
	if len(present) == 0 {
		none.Detail = noClient(o) + "; install one of them, then run c2c install"
		return []format.Finding{none}, nil
	}
	for _, name := range present {
		found, err := install.Inspect(name, o)
		if err != nil {
			return nil, err
		}
		if _, err := proc.LookPath(client.ProgramOf(name), o.Getenv); err != nil && !c.hasSessions(ctx, name) {
			found = format.OfNobody(found)
		}
		if found[0].Part != install.PartNone {
			set = true
			report = append(report, install.Program(ctx, name, o))
		}
		report = append(report, found...)
		if install.HasServer(name, o) && !install.HTTPByHand(name, o) && sessions.Uninstalled(c.getenv, name, 0) {
			report = append(report, format.Finding{Client: name, Status: format.Problem, Part: "uninstall",
				Detail: "c2c uninstall was interrupted, and a session from before it gets no mail; c2c install " + name + " repairs it"})
		}
	}
	if !set && !install.HasAlone(o) {
		none.Status = format.Warning
		none.Detail = "c2c is set up in none of " + strings.Join(present, ", ") + ": run c2c install, or start sessions with c2c start, which says what its client then lacks"
		report = append(report, none)
	}
	return append(report, c.checkRunning(ctx, present)...), nil
}

// checkRunning names clients that run in a terminal in this project, and have no session. It skips
// clients whose sessions share a process.
func (c checkup) checkRunning(ctx context.Context, present []string) (report []format.Finding) {
	names := slices.DeleteFunc(slices.Clone(present), func(name string) bool {
		p, _ := client.Find(name)
		return p.SharedProcess || sessions.Uninstalled(c.getenv, name, 0)
	})
	root, _ := c.root()
	for _, r := range unknownClients(ctx, c.getenv, names) {
		if theirs, err := broker.RootHere(c.getenv, r.Folder); err == nil && theirs == root {
			report = append(report, format.Finding{Client: r.Client, Status: format.Warning, Part: "without mail", Detail: r.sentence(c.getenv)})
		}
	}
	return report
}

// hasSessions reports whether the root has sessions of a client; with an empty name, of any client.
func (c checkup) hasSessions(ctx context.Context, name string) bool {
	root, _ := c.root()
	return slices.ContainsFunc(sessionsIn(ctx, root), func(s sessions.Session) bool {
		return s.Client != "" && (name == "" || s.Client == name) && s.State != sessions.Person && s.State != sessions.External
	})
}

// noClient returns a sentence that says that there is no client, and where c2c has searched.
func noClient(o install.Options) string {
	var programs, dirs []string
	for _, name := range client.Names() {
		p, _ := client.Find(name)
		dir, _ := p.Config(o.Getenv)
		programs, dirs = append(programs, client.ProgramOf(name)), append(dirs, cli.AtHome(o.Getenv, dir))
	}
	return fmt.Sprintf("no client found: no %s on PATH, and no directory %s", cli.AnyOf(programs), cli.AnyOf(dirs))
}
