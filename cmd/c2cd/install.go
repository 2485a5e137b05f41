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
	"c2c/cmd/checkup"
	"c2c/cmd/cli"
	"c2c/cmd/relayed"
	"c2c/hooks"
	"c2c/install"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/processes"
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

// maxPlans is how often edit makes a new plan because a file has changed meanwhile.
const maxPlans = 5

// editor is one run of install or uninstall, which differ in the plan.
type editor struct {
	*app
	o            install.Options
	plan         func(string, install.Options) (*install.Plan, error)
	undo         bool // uninstall
	dry, verbose bool

	diffs   strings.Builder // of --dry-run, printed after the summary
	unasked bool            // the client calls c2c's tools without asking
	fresh   []string        // clients whose configuration was changed
}

func (a *call) install(ctx context.Context) error {
	overHTTP := a.Bool("http")
	project, plugin, ask, channel := a.Bool("project"), a.Bool("install-global-plugin"), a.Bool("ask"), a.Bool("channel")
	entry, dry, verbose := a.Text("print"), a.Bool("dry-run"), a.Bool("verbose")
	named, err := a.words()
	if err != nil {
		return err
	}
	o, err := a.options()
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
			err = a.checkNotInGit(ctx, named, o)
		}
		if err != nil {
			return err
		}
	}
	clients, err := chosen(named, o)
	if err == nil && *channel {
		err = withChannel(named)
	}
	if err != nil {
		return err
	}
	e := &editor{app: a.app, o: o, plan: install.PlanInstall, dry: *dry, verbose: *verbose}
	done, failed := e.edit(clients, true)
	if *channel {
		a.tellChannels(done)
	}
	if *overHTTP && !o.HTTP.Runs {
		fmt.Fprintf(a.stdout, "no HTTP daemon answers, so the tools of %s are over stdio now: c2c serve start, then run this again\n", strings.Join(done, ", "))
	}
	if !*dry {
		a.tellRunning(ctx, e.fresh)
		a.tellNext(done, e.unasked)
	}
	return failed
}

func (a *call) uninstall() error {
	dry, verbose := a.Bool("dry-run"), a.Bool("verbose")
	named, err := a.words()
	if err != nil {
		return err
	}
	o, err := a.options()
	if err != nil {
		return err
	}
	clients := named
	if len(named) == 0 {
		clients = install.Clients() // a removed client may have left its part in projects
	}
	if clients, err = chosen(clients, o); err != nil {
		return err
	}
	e := &editor{app: a.app, o: o, plan: install.PlanUninstall, undo: true, dry: *dry, verbose: *verbose}
	_, err = e.edit(clients, len(named) > 0)
	if len(named) == 0 {
		err = errors.Join(err, a.tellDaemonRuns())
		for _, line := range relayed.Leftovers(a.getenv) {
			fmt.Fprintln(a.stdout, line)
		}
	}
	if state, _ := project.StateDir(a.getenv); len(named) == 0 && !*dry && err == nil {
		if _, missing := os.Stat(state); missing == nil {
			fmt.Fprintf(a.stdout, "the mail stays in %s until you delete that directory\n", state)
		}
	}
	return err
}

// edit plans and applies the edits of each client, and returns the clients for which that succeeded. A client with damaged files
// does not stop the others. asked means that the person has named the clients: then edit prints a line for each, even if nothing
// changes.
func (e *editor) edit(names []string, asked bool) (done []string, failed error) {
	said := false
	for _, name := range names {
		var p *install.Plan
		err := install.ErrChanged
		for range maxPlans { // a running client writes its files, too
			if !errors.Is(err, install.ErrChanged) {
				break
			}
			if p, err = e.plan(name, e.o); err == nil {
				err = e.apply(p, asked, &said)
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		done = append(done, name)
		for _, err := range p.Left {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	if !said && failed == nil {
		fmt.Fprintln(e.stdout, "c2c is set up in no client: nothing to take out")
	}
	if e.dry && said {
		fmt.Fprintln(e.stdout, "nothing was changed (--dry-run)")
		fmt.Fprint(e.stdout, e.diffs.String())
	}
	return done, failed
}

// apply carries out a plan, and prints a line about it.
func (e *editor) apply(p *install.Plan, asked bool, said *bool) error {
	if !e.dry {
		if err := e.carryOut(p); err != nil {
			return err
		}
	}
	if e.undo && p.Empty() && p.Left == nil && p.Notes == nil && !asked {
		return nil
	}
	*said = true
	switch {
	case e.dry:
		fmt.Fprintf(e.stdout, "%s: %s\n", p.Client, p.Summary())
		e.diffs.WriteString(p.Diff())
		return nil
	case e.verbose:
		fmt.Fprint(e.stdout, p.Diff()) // not earlier: another install may have changed the plan
	}
	switch {
	case !e.undo:
		words := append([]string{p.Told(e.o)}, p.Owed(e.o)...)
		fmt.Fprintf(e.stdout, "%s: %s\n", p.Client, strings.Join(words, "; "))
		e.unasked = e.unasked || p.Unasked(e.o)
		if !p.Empty() {
			e.fresh = append(e.fresh, p.Client)
		}
	case p.Left != nil:
		fmt.Fprintf(e.stdout, "%s: not all is undone\n", p.Client)
	case p.Empty():
		fmt.Fprintf(e.stdout, "%s: nothing to take out\n", p.Client)
	default:
		fmt.Fprintf(e.stdout, "%s: taken out; a session that still runs gets no mail\n", p.Client)
	}
	if len(p.Notes) > 0 {
		fmt.Fprintf(e.stdout, "%s: note: %s\n", p.Client, strings.Join(p.Notes, "; "))
	}
	return nil
}

// carryOut applies a plan. Before an uninstall it marks the client, so that c2c's running programs do not wake it half way
// through.
func (e *editor) carryOut(p *install.Plan) error {
	marks := e.undo && !p.Empty()
	if marks {
		if err := processes.MarkUninstalled(e.getenv, p.Client, p.OneOf()); err != nil {
			return err
		}
	}
	// Even if nothing changes: Apply drops undo records that are no longer of use.
	err := p.Apply()
	if !e.undo && err == nil || marks && err != nil { // the client is set up, or still is
		err = errors.Join(err, processes.ClearUninstalled(e.getenv, p.Client))
	}
	return err
}

// withChannel returns an error if a named client supports no channel.
func withChannel(named []string) error {
	var with []string
	for _, p := range client.All() {
		if p.Channel != "" {
			with = append(with, p.Name)
		}
	}
	for _, name := range named {
		if p, _ := client.Find(name); p.Channel == "" {
			return fmt.Errorf("%w: %s has no channel; --channel is for %s", errUsage, name, strings.Join(with, ", "))
		}
	}
	return nil
}

func (a *app) tellChannels(clients []string) {
	for _, name := range clients {
		if p, _ := client.Find(name); p.Channel != "" {
			fmt.Fprintf(a.stdout, "%s: start it as a channel with: c2c start --channel %[1]s, or: %[2]s=%[3]s %[1]s %[4]s\n",
				name, channelVariable, channelDoorbell, strings.Join(p.ChannelArgs, " "))
		}
	}
}

// freeAlias is an alias that no session of this root has, empty if all are taken. It makes no root.
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
		if err == nil && !slices.ContainsFunc(all, func(s sessions.Session) bool { return s.Alias == name }) {
			return name
		}
	}
	return ""
}

// printEntry prints the text to paste into the configuration of a client that c2c does not know.
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
			return nil, cli.WithHint(errors.New(checkup.NoClient(o)), "c2c install "+install.Clients()[0]+" sets it up all the same")
		}
	}
	for _, c := range clients {
		if !slices.Contains(install.Clients(), c) {
			err := fmt.Errorf("%w: no such client %q; there are %s", errUsage, c, strings.Join(install.Clients(), ", "))
			return nil, cli.WithHint(err, cli.DidYouMean(c, install.Clients()))
		}
	}
	return clients, nil
}
