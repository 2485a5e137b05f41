package main

import (
	"context"
	"fmt"
	"path/filepath"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/internal/format"
	"c2c/internal/proc"
)

// tellNext ends an install with a command to try: c2c start with a client whose program is found,
// or c2c doctor if none is found.
func (a *app) tellNext(clients []string) {
	c2c := "c2c"
	switch found, err := proc.LookPath(c2c, a.getenv); {
	case err != nil:
		c2c = a.c2c
		fmt.Fprintf(a.stdout, "to do: add %s to your PATH\n", filepath.Dir(a.c2c))
	case !cli.SameFile(found, a.c2c) && !launches(found, a.c2c):
		c2c = a.c2c
		fmt.Fprintf(a.stdout, "to do: your PATH has another c2c first, %s; put %s before it\n", found, filepath.Dir(a.c2c))
	}
	for _, name := range clients {
		p, _ := client.Find(name)
		if _, err := proc.LookPath(client.ProgramOf(name), a.getenv); err != nil {
			continue
		}
		alias := a.freeAlias()
		if alias == "" || p.SharedProcess && !p.Plugin {
			fmt.Fprintf(a.stdout, "Try: %s start %s\n", c2c, name)
		} else {
			fmt.Fprintf(a.stdout, "Try: %s start --alias %s %s\n", c2c, alias, name)
		}
		return
	}
	fmt.Fprintf(a.stdout, "Try: %s doctor\n", c2c)
}

// launches reports whether script (the c2c in the PATH) is a launcher of npm that starts program.
// It searches for program's npm package in each directory node_modules above the script.
func launches(script, program string) bool {
	real, err := filepath.EvalSymlinks(script)
	if own, perr := filepath.EvalSymlinks(program); perr == nil {
		program = own
	}
	if err != nil {
		return false
	}
	name := filepath.Base(filepath.Dir(filepath.Dir(program))) // .../<package>/bin/c2c
	for dir := filepath.Dir(filepath.Dir(real)); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if cli.SameFile(filepath.Join(dir, "node_modules", name, "bin", "c2c"), program) {
			return true
		}
	}
	return false
}

// tellRunning lists clients that were started before c2c was set up in them, and that therefore
// have no session.
func (a *app) tellRunning(ctx context.Context, names []string) {
	const limit = 3
	found := unknownClients(ctx, a.getenv, names)
	for _, r := range found[:min(len(found), limit)] {
		fmt.Fprintf(a.stdout, "%s\n", r.sentence(a.getenv))
	}
	if more := len(found) - limit; more > 0 {
		fmt.Fprintln(a.stdout, format.Count(more, "more client was started before this: restart it", "more clients were started before this: restart them"))
	}
}
