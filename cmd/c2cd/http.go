package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/install"
	"c2c/serve"
)

// forHTTP calls overHTTP for c2c install --http. It returns an error if no client is named, or if
// c2c cannot set up a named client over HTTP.
func (a *app) forHTTP(ctx context.Context, named []string) (*install.HTTP, error) {
	can := slices.DeleteFunc(client.Names(), func(name string) bool { return !install.CanHTTP(name) })
	if len(named) == 0 || slices.ContainsFunc(named, func(name string) bool { return !install.CanHTTP(name) }) {
		return nil, fmt.Errorf("%w: --http is for %s; docs/any-client.md shows how to set up another client over HTTP by hand", cli.ErrUsage, strings.Join(can, ", "))
	}
	return a.overHTTP(ctx)
}

// overHTTP describes the HTTP daemon for a client's configuration. The result's Runs is true only
// if the daemon answers and accepts the token.
func (a *app) overHTTP(ctx context.Context) (*install.HTTP, error) {
	d, err := a.openHTTP(false)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if d.Files == nil {
		return &install.HTTP{}, nil
	}
	at, err := d.at()
	if err != nil || at.Port == 0 {
		return &install.HTTP{}, err
	}
	token, err := serve.Token(d.State)
	if errors.Is(err, fs.ErrNotExist) {
		return &install.HTTP{}, nil
	}
	if err != nil {
		return nil, err
	}
	_, takes := askHTTP(ctx, at.Port, "/metrics", token)
	return &install.HTTP{URL: at.URL, Token: token, Runs: takes}, nil
}

// checkNotInGit returns an error if install would write the token into a file that git tracks. Some
// people keep their configuration in git, and then everybody who has the repository would have the
// token.
func checkNotInGit(ctx context.Context, named []string, o install.Options) error {
	for _, name := range named {
		paths, err := install.KeyFiles(name, o)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if isTracked(ctx, path) {
				return cli.WithHint(fmt.Errorf("%s: git tracks %s, and would get the token of the HTTP daemon", name, path),
					"git rm --cached takes the file out of git and keeps it on the disk; without --http it gets no token")
			}
		}
	}
	return nil
}

// gitTime bounds the time that a git command may take.
const gitTime = 5 * time.Second

// isTracked reports whether git tracks a file. Without git it returns false.
func isTracked(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	// core.fsmonitor can name a program. Turn it off, so that no repository makes git run a
	// program.
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-C", filepath.Dir(path), "ls-files", "--error-unmatch", "--", ":(literal)"+filepath.Base(path))
	return cmd.Run() == nil
}

// tellOverHTTP is for a change of the HTTP daemon. For each client that gets its tools from the
// daemon, it prints the text effect: what the change means for the client. If c2c install can help,
// it also prints the text cure, a format that gets the client's name.
func (a *app) tellOverHTTP(effect, cure string) {
	o, err := a.options()
	if err != nil {
		return // there is no home, and so no configuration
	}
	for _, name := range install.OverHTTP(o) {
		line := name + ": " + effect
		if install.CanHTTP(name) {
			line += fmt.Sprintf(cure, name)
		}
		fmt.Fprintln(a.stdout, line)
	}
}
