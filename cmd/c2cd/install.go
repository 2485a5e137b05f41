package main

import (
	"context"
	"fmt"

	"c2c/install"
)

func (a *app) setup() Setup {
	return Setup{Stdout: a.stdout, Getenv: a.getenv, Cwd: a.cwd, C2C: a.c2c, Open: a.openThere}
}

// options describes this machine for package install.
func (a *app) options() (install.Options, error) { return a.setup().Options() }

// wordsAndOptions returns the clients that the command line names, and what install has to know.
func (a *call) wordsAndOptions() (named []string, o install.Options, err error) {
	if named, err = a.words(); err == nil {
		o, err = a.options()
	}
	return named, o, err
}

func init() { verbs["install"] = (*call).install }

func (a *call) install(ctx context.Context) error {
	overHTTP := a.Bool("http")
	project, plugin, ask, channel := a.Bool("project"), a.Bool("install-global-plugin"), a.Bool("ask"), a.Bool("channel")
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
		return a.setup().PrintEntry(*entry, named, o)
	}
	return a.setup().Install(ctx, o, SetupRequest{Clients: named, HTTP: *overHTTP, Channel: *channel, DryRun: *dry, Verbose: *verbose})
}

func init() { verbs["uninstall"] = (*call).uninstall }

func (a *call) uninstall(ctx context.Context) error {
	dry, verbose := a.Bool("dry-run"), a.Bool("verbose")
	named, o, err := a.wordsAndOptions()
	if err != nil {
		return err
	}
	return a.setup().Uninstall(ctx, o, SetupRequest{Clients: named, DryRun: *dry, Verbose: *verbose})
}
