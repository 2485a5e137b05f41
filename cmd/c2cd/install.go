package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/broker/client"
	"c2c/hooks"
	"c2c/install"
)

// options describes this machine to package install.
func (a *app) options(global bool) (install.Options, error) {
	home := a.getenv("HOME")
	if home == "" {
		return install.Options{}, fmt.Errorf("HOME is not set")
	}
	state := a.getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(home, ".local", "state")
	}
	return install.Options{
		Home: home, Getenv: a.getenv, Project: a.cwd, Global: global,
		Binary: a.c2c, HookScript: hooks.ScriptFor(a.c2c),
		StateDir: filepath.Join(state, "c2c", "install"),
	}, nil
}

func (a *call) install() error {
	global, project, plugin := a.Bool("global"), a.Bool("project"), a.Bool("install-global-plugin")
	entry, channel, dry := a.Text("print"), a.Bool("channel"), a.Bool("dry-run")
	clients, err := a.words()
	if err != nil {
		return err
	}
	o, err := a.options(*global)
	if err != nil {
		return err
	}
	if *plugin && !*project {
		return fmt.Errorf("%w: --install-global-plugin needs --project; without both, all of it is for all projects", errUsage)
	}
	o.InProject, o.SharedPlugin = *project, *plugin
	if *entry != "" {
		return a.printEntry(*entry, clients, o)
	}
	if clients, err = chosen(clients, o); err != nil {
		return err
	}
	err = a.edit("install", clients, o, install.PlanInstall, *dry)
	for _, name := range clients {
		if p, _ := client.Find(name); *channel && p.Channel != "" && err == nil {
			fmt.Fprintf(a.stdout, "%s: start it as a channel with: c2c start --channel %[1]s, or: %[2]s=%[3]s %[1]s %[4]s\n",
				name, channelVariable, channelDoorbell, strings.Join(p.ChannelArgs, " "))
		}
	}
	return err
}

func (a *call) uninstall() error {
	dry := a.Bool("dry-run")
	clients, err := a.words()
	if err != nil {
		return err
	}
	o, err := a.options(false)
	if err != nil {
		return err
	}
	if len(clients) == 0 {
		clients = install.Clients() // one that is no longer here has left its part in projects
	}
	if clients, err = chosen(clients, o); err != nil {
		return err
	}
	return a.edit("uninstall", clients, o, install.PlanUninstall, *dry)
}

// edit applies the plans of some clients. One whose files are damaged keeps no other from its turn.
func (a *app) edit(verb string, clients []string, o install.Options, plan func(string, install.Options) (*install.Plan, error), dry bool) (failed error) {
	for _, name := range clients {
		p, err := plan(name, o)
		if err == nil {
			err = a.apply(verb, name, p, dry)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		for _, err := range p.Left {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	return failed
}

// printEntry prints what a person pastes into the configuration of a client that c2c does not know.
func (a *app) printEntry(what string, clients []string, o install.Options) error {
	if what != "mcp" || len(clients) > 0 {
		return fmt.Errorf("%w: --print prints mcp alone, which is the same for every client: c2c install --print mcp", errUsage)
	}
	text, err := install.ServerEntry(o)
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	return err
}

func chosen(clients []string, o install.Options) ([]string, error) {
	if len(clients) == 0 {
		if clients = install.Detect(o); len(clients) == 0 {
			return nil, fmt.Errorf("%s; name one to set it up all the same", noClient(o))
		}
	}
	for _, c := range clients {
		if !slices.Contains(install.Clients(), c) {
			return nil, fmt.Errorf("%w: no such client %q; there are %s", errUsage, c, strings.Join(install.Clients(), ", "))
		}
	}
	return clients, nil
}

// noClient says where clients were looked for.
func noClient(o install.Options) string {
	var dirs []string
	for _, name := range install.Clients() {
		p, _ := client.Find(name)
		dir, _ := p.Config(o.Getenv)
		dirs = append(dirs, dir)
	}
	return fmt.Sprintf("no client found: no %s on PATH, and no directory %s", anyOf(install.Clients()), anyOf(dirs))
}

func anyOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (a *app) apply(verb, client string, p *install.Plan, dry bool) error {
	if dry {
		fmt.Fprintf(a.stdout, "%s%s: nothing was changed (--dry-run)\n", p.Diff(), client)
		return nil
	}
	// Before the first change: no running client is to be woken half way.
	if verb == "uninstall" && !p.Empty() {
		if err := broker.MarkUninstalled(a.getenv, client); err != nil {
			return err
		}
	}
	// Also when nothing changes: it drops undo records that have no use any more.
	err := p.Apply()
	if (err == nil) == (verb == "install") { // it is set up, or still is
		err = errors.Join(err, broker.ClearUninstalled(a.getenv, client))
	}
	if err != nil {
		return err
	}
	fmt.Fprint(a.stdout, p.Diff()) // not before: another install may have changed the plan
	for _, note := range p.Notes {
		fmt.Fprintf(a.stdout, "%s: %s\n", client, note)
	}
	done := "done"
	switch {
	case p.Left != nil:
		done = "not all is undone"
	case p.Empty():
		done = "nothing to change"
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", client, done)
	return nil
}
