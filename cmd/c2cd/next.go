package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"c2c/client"
	"c2c/internal/format"
	"c2c/internal/proc"
)

// tellNext ends an install with a command to try: c2c start with a client whose program is found,
// or c2c doctor if none is found.
func (s Setup) tellNext(clients []string) {
	c2c := "c2c"
	switch found, err := proc.LookPath(c2c, s.Getenv); {
	case err != nil:
		c2c = s.C2C
		fmt.Fprintf(s.Stdout, "to do: add %s to your PATH\n", filepath.Dir(s.C2C))
	case !sameFile(found, s.C2C) && !launches(found, s.C2C):
		c2c = s.C2C
		fmt.Fprintf(s.Stdout, "to do: your PATH has another c2c first, %s; put %s before it\n", found, filepath.Dir(s.C2C))
	}
	for _, name := range clients {
		p, _ := client.Find(name)
		if _, err := proc.LookPath(client.ProgramOf(name), s.Getenv); err != nil {
			continue
		}
		alias := s.freeAlias()
		if alias == "" || p.SharedProcess && !p.Plugin {
			fmt.Fprintf(s.Stdout, "Try: %s start %s\n", c2c, name)
		} else {
			fmt.Fprintf(s.Stdout, "Try: %s start --alias %s %s\n", c2c, alias, name)
		}
		return
	}
	fmt.Fprintf(s.Stdout, "Try: %s doctor\n", c2c)
}

func sameFile(one, other string) bool {
	a, aerr := os.Stat(one)
	b, berr := os.Stat(other)
	return aerr == nil && berr == nil && os.SameFile(a, b)
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
		if sameFile(filepath.Join(dir, "node_modules", name, "bin", "c2c"), program) {
			return true
		}
	}
	return false
}

// tellRunning lists clients that were started before c2c was set up in them, and that therefore
// have no session.
func (s Setup) tellRunning(ctx context.Context, names []string) {
	const limit = 3
	found := UnknownClients(ctx, s.Getenv, names)
	for _, r := range found[:min(len(found), limit)] {
		fmt.Fprintf(s.Stdout, "%s\n", r.Sentence(s.Getenv("HOME")))
	}
	if more := len(found) - limit; more > 0 {
		fmt.Fprintln(s.Stdout, format.Count(more, "more client was started before this: restart it", "more clients were started before this: restart them"))
	}
}
