// This part runs c2c install and c2c uninstall. Package install plans and makes the edits of the
// clients' configuration; this part prints the result and what is left to do.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/cmd/relay"
	"c2c/hooks"
	"c2c/install"
	"c2c/project"
	"c2c/sessions"
)

// options describes this machine for package install.
func (a *app) options() (install.Options, error) {
	home := a.getenv("HOME")
	if home == "" {
		return install.Options{}, fmt.Errorf("HOME is not set: set it to your home directory")
	}
	state := a.getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(home, ".local", "state")
	}
	return install.Options{
		Home: home, Getenv: a.getenv, Project: a.cwd,
		Binary: a.c2c, HookScript: hooks.ScriptFor(a.c2c),
		StateDir: filepath.Join(state, "c2c", "install"),
	}, nil
}

// wordsAndOptions returns the clients that the command line names, and what install has to know.
func (a *call) wordsAndOptions() (named []string, o install.Options, err error) {
	if named, err = a.words(); err == nil {
		o, err = a.options()
	}
	return named, o, err
}

func init() { verbs["install"] = (*call).install }

// install sets clients up: the named ones, or all that are found.
func (a *call) install(ctx context.Context) error {
	overHTTP := a.Bool("http")
	project, plugin, ask := a.Bool("project"), a.Bool("install-global-plugin"), a.Bool("ask")
	entry, dry, verbose := a.Text("print"), a.Bool("dry-run"), a.Bool("verbose")
	named, o, err := a.wordsAndOptions()
	if err != nil {
		return err
	}
	if *plugin && !*project {
		return fmt.Errorf("%w: --install-global-plugin needs --project; without both options c2c is set up for all projects", errUsage)
	}
	o.InProject, o.SharedPlugin, o.Ask = *project, *plugin, *ask
	if *entry != "" {
		return a.printEntry(*entry, named, o)
	}
	if *overHTTP {
		if o.HTTP, err = a.forHTTP(ctx, named); err == nil {
			err = checkNotInGit(ctx, named, o)
		}
		if err != nil {
			return err
		}
	}
	clients, err := chosen(named, o)
	if err != nil {
		return err
	}
	e := &editor{app: a.app, o: o, plan: install.PlanInstall, dry: *dry, verbose: *verbose}
	done, failed := e.edit(clients, true)
	if *overHTTP && !o.HTTP.Runs {
		fmt.Fprintf(a.stdout, "no HTTP daemon answers, so the tools of %s use stdio now: run c2c serve start, and then this again\n", strings.Join(done, ", "))
	}
	if !*dry {
		a.tellRunning(ctx, e.fresh)
		a.tellNext(done)
	}
	return failed
}

func init() { verbs["uninstall"] = (*call).uninstall }

// uninstall takes c2c out of the named clients, or out of all clients.
func (a *call) uninstall(ctx context.Context) error {
	dry, verbose := a.Bool("dry-run"), a.Bool("verbose")
	named, o, err := a.wordsAndOptions()
	if err != nil {
		return err
	}
	clients := named
	if len(named) == 0 {
		clients = client.Names() // c2c may still be in the projects of a client that was removed
	}
	if clients, err = chosen(clients, o); err != nil {
		return err
	}
	e := &editor{app: a.app, o: o, plan: install.PlanUninstall, undo: true, dry: *dry, verbose: *verbose}
	_, err = e.edit(clients, len(named) > 0)
	open, again := served(a.getenv), ""
	if len(named) == 0 && !*dry {
		if len(open) == 0 {
			err = errors.Join(err, install.RemoveAlone(o))
		} else if install.HasAlone(o) { // a session of c2c start may run with these files
			again = "; then run c2c uninstall again"
		}
	}
	if len(named) == 0 {
		err = errors.Join(err, a.endDaemon(ctx, *dry))
		for _, line := range relay.Leftovers(a.getenv) {
			fmt.Fprintln(a.stdout, line)
		}
	}
	if state, _ := project.StateDir(a.getenv); len(named) == 0 && !*dry && err == nil {
		if _, missing := os.Stat(state); missing == nil {
			first := ""
			if len(open) > 0 { // these programs would make a deleted directory again
				first = "; first end " + strings.Join(open, ", ") + ", where c2c still runs" + again
			}
			fmt.Fprintf(a.stdout, "the mail stays in %s until you delete that directory%s\n", state, first)
		}
	}
	return err
}

// freeAlias returns an alias that no session of this root has; "" if all are taken. It makes no
// root.
func (a *app) freeAlias() string {
	names := []string{"amber", "birch", "coral", "dune"}
	b, err := a.openThere()
	if errors.Is(err, fs.ErrNotExist) {
		return names[0]
	}
	if err != nil {
		return ""
	}
	defer b.Close()
	all, err := b.Sessions(context.Background())
	for _, name := range names {
		if err == nil && !slices.ContainsFunc(all, func(one sessions.Session) bool { return one.Alias == name }) {
			return name
		}
	}
	return ""
}

// printEntry prints a text that a person can paste into the configuration of a client that c2c does
// not know.
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
			return nil, cli.WithHint(errors.New(noClient(o)), "c2c install "+client.Names()[0]+" sets it up all the same")
		}
	}
	for _, c := range clients {
		if !slices.Contains(client.Names(), c) {
			err := fmt.Errorf("%w: no such client %q; there are %s", errUsage, c, strings.Join(client.Names(), ", "))
			return nil, cli.WithHint(err, cli.DidYouMean(c, client.Names()))
		}
	}
	return clients, nil
}
