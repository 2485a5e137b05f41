// This part runs c2c install and c2c uninstall. Package install plans and makes the edits of the
// clients' configuration; this part prints the result and what is left to do.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/cmd/relay"
	"c2c/hooks"
	"c2c/install"
	"c2c/project"
	"c2c/sessions"
)

// Setup has the output and environment of a command.
type Setup struct {
	Stdout io.Writer
	Getenv func(string) string
	Cwd    string
	C2C    string                         // the path of c2c for the clients' configurations
	Open   func() (*broker.Broker, error) // opens the root; if there is none, the error is fs.ErrNotExist
}

// Options describes this machine for package install.
func (s Setup) Options() (install.Options, error) {
	home := s.Getenv("HOME")
	if home == "" {
		return install.Options{}, fmt.Errorf("HOME is not set: set it to your home directory")
	}
	state := s.Getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(home, ".local", "state")
	}
	return install.Options{
		Home: home, Getenv: s.Getenv, Project: s.Cwd,
		Binary: s.C2C, HookScript: hooks.ScriptFor(s.C2C),
		StateDir: filepath.Join(state, "c2c", "install"),
	}, nil
}

// Request has the options and words that the person has typed.
type SetupRequest struct {
	Clients         []string // empty: for an install all that are found, for an uninstall all
	HTTP, Channel   bool
	DryRun, Verbose bool
}

// Install sets clients up.
func (s Setup) Install(ctx context.Context, o install.Options, r SetupRequest) (err error) {
	if r.HTTP {
		if o.HTTP, err = s.forHTTP(ctx, r.Clients); err == nil {
			err = checkNotInGit(ctx, r.Clients, o)
		}
		if err != nil {
			return err
		}
	}
	clients, err := chosen(r.Clients, o)
	if err == nil && r.Channel {
		err = withChannel(r.Clients)
	}
	if err != nil {
		return err
	}
	e := &editor{Setup: s, o: o, plan: install.PlanInstall, dry: r.DryRun, verbose: r.Verbose}
	done, failed := e.edit(clients, true)
	if r.Channel {
		s.tellChannels(done)
	}
	if r.HTTP && !o.HTTP.Runs {
		fmt.Fprintf(s.Stdout, "no HTTP daemon answers, so the tools of %s use stdio now: run c2c serve start, and then this again\n", strings.Join(done, ", "))
	}
	if !r.DryRun {
		s.tellRunning(ctx, e.fresh)
		s.tellNext(done)
	}
	return failed
}

// Uninstall takes c2c out of the named clients, or out of all clients.
func (s Setup) Uninstall(ctx context.Context, o install.Options, r SetupRequest) error {
	named := r.Clients
	clients := named
	if len(named) == 0 {
		clients = client.Names() // c2c may still be in the projects of a client that was removed
	}
	clients, err := chosen(clients, o)
	if err != nil {
		return err
	}
	e := &editor{Setup: s, o: o, plan: install.PlanUninstall, undo: true, dry: r.DryRun, verbose: r.Verbose}
	_, err = e.edit(clients, len(named) > 0)
	open, again := Served(s.Getenv), ""
	if len(named) == 0 && !r.DryRun {
		if len(open) == 0 {
			err = errors.Join(err, install.RemoveAlone(o))
		} else if install.HasAlone(o) { // a session of c2c start may run with these files
			again = "; then run c2c uninstall again"
		}
	}
	if len(named) == 0 {
		err = errors.Join(err, s.endDaemon(ctx, r.DryRun))
		for _, line := range relay.Leftovers(s.Getenv) {
			fmt.Fprintln(s.Stdout, line)
		}
	}
	if state, _ := project.StateDir(s.Getenv); len(named) == 0 && !r.DryRun && err == nil {
		if _, missing := os.Stat(state); missing == nil {
			first := ""
			if len(open) > 0 { // these programs would make a deleted directory again
				first = "; first end " + strings.Join(open, ", ") + ", where c2c still runs" + again
			}
			fmt.Fprintf(s.Stdout, "the mail stays in %s until you delete that directory%s\n", state, first)
		}
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
			return fmt.Errorf("%w: %s has no channel; --channel is for %s", cli.ErrUsage, name, strings.Join(with, ", "))
		}
	}
	return nil
}

func (s Setup) tellChannels(clients []string) {
	for _, name := range clients {
		if p, _ := client.Find(name); p.Channel != "" {
			fmt.Fprintf(s.Stdout, "%s: start it as a channel with: c2c start --channel %[1]s, or: %[2]s=%[3]s %[1]s %[4]s\n",
				name, client.ChannelEnv, client.ChannelDoorbell, strings.Join(p.ChannelArgs, " "))
		}
	}
}

// freeAlias returns an alias that no session of this root has; "" if all are taken. It makes no
// root.
func (s Setup) freeAlias() string {
	names := []string{"amber", "birch", "coral", "dune"}
	b, err := s.Open()
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

// PrintEntry prints a text that a person can paste into the configuration of a client that c2c does
// not know.
func (s Setup) PrintEntry(what string, clients []string, o install.Options) error {
	if what != "mcp" || len(clients) > 0 {
		return fmt.Errorf("%w: --print prints mcp alone, which is the same for every client: c2c install --print mcp", cli.ErrUsage)
	}
	text, err := install.ServerEntry(o)
	if err == nil {
		_, err = s.Stdout.Write(text)
	}
	return err
}

func chosen(clients []string, o install.Options) ([]string, error) {
	if len(clients) == 0 {
		if clients = install.Detect(o); len(clients) == 0 {
			return nil, cli.WithHint(errors.New(NoClient(o)), "c2c install "+client.Names()[0]+" sets it up all the same")
		}
	}
	for _, c := range clients {
		if !slices.Contains(client.Names(), c) {
			err := fmt.Errorf("%w: no such client %q; there are %s", cli.ErrUsage, c, strings.Join(client.Names(), ", "))
			return nil, cli.WithHint(err, cli.DidYouMean(c, client.Names()))
		}
	}
	return clients, nil
}
