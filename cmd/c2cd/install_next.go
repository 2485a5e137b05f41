package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox/mail"
	"c2c/process/procstat"
	"c2c/project"
)

// tellNext ends an install with a command that works here, where a client can be started. unasked: tools of c2c are called
// without asking.
func (a *app) tellNext(clients []string, unasked bool) {
	c2c := "c2c"
	switch found, err := client.LookPath(c2c, a.getenv); {
	case err != nil:
		c2c = a.c2c
		fmt.Fprintf(a.stdout, "to do: add %s to your PATH\n", filepath.Dir(a.c2c))
	case !sameFile(found, a.c2c) && !launches(found, a.c2c):
		c2c = a.c2c
		fmt.Fprintf(a.stdout, "to do: your PATH has another c2c first, %s; put %s before it\n", found, filepath.Dir(a.c2c))
	}
	begin := ""
	if unasked {
		begin = "Tools of c2c run without asking (--ask: they ask). "
	}
	for _, name := range clients {
		p, _ := client.Find(name)
		if _, err := client.LookPath(client.ProgramOf(name), a.getenv); err != nil {
			continue
		}
		alias := a.freeAlias()
		if alias == "" || p.SharedProcess && !p.Plugin {
			fmt.Fprintf(a.stdout, "%sTry: %s start %s\n", begin, c2c, name)
		} else {
			fmt.Fprintf(a.stdout, "%sTry: %s start --alias %s %s\n", begin, c2c, alias, name)
		}
		return
	}
	fmt.Fprintf(a.stdout, "%sTry: %s doctor\n", begin, c2c)
}

func sameFile(one, other string) bool {
	a, aerr := os.Stat(one)
	b, berr := os.Stat(other)
	return aerr == nil && berr == nil && os.SameFile(a, b)
}

// launches says whether script is the launcher that npm puts into the PATH, and starts program: it looks for the package of the
// program in each node_modules above its own.
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

// running is a client that runs in a terminal, and was not set up when it was started.
type running struct {
	client string
	pid    int
	folder string
}

// tellRunning names clients that ran before they were set up: they have no session.
func (a *app) tellRunning(ctx context.Context, names []string) {
	const most = 3
	found := a.unknown(ctx, names)
	for _, r := range found[:min(len(found), most)] {
		fmt.Fprintf(a.stdout, "%s\n", r.sentence(a.getenv("HOME")))
	}
	if more := len(found) - most; more > 0 {
		fmt.Fprintf(a.stdout, "%d more run that were started before this: restart them\n", more)
	}
}

func (r running) sentence(home string) string {
	folder := r.folder
	if rest, below := strings.CutPrefix(folder, home+"/"); below && home != "" {
		folder = "~/" + rest
	}
	do := "restart it"
	if p, _ := client.Find(r.client); p.ReadsHooksAnew {
		do = "type a prompt there, or restart it"
	}
	return fmt.Sprintf("%s runs in %s already (pid %d): %s", r.client, mail.Visible(folder, ""), r.pid, do)
}

// unknown lists the clients of this user that run in a terminal and are no session.
func (a *app) unknown(ctx context.Context, names []string) (all []running) {
	known := map[string][]int{} // by folder
	for _, t := range procstat.Terminals() {
		i := slices.IndexFunc(names, func(name string) bool { return runs(t, client.ProgramOf(name)) })
		if i < 0 || !slices.Contains(t.Env, "HOME="+a.getenv("HOME")) { // with another one it reads other settings
			continue
		}
		pids, looked := known[t.Folder]
		if !looked {
			pids = a.sessionsOf(ctx, t.Folder)
			known[t.Folder] = pids
		}
		if !slices.Contains(pids, t.PID) && !slices.Contains(pids, t.Parent) && !slices.ContainsFunc(all, func(r running) bool { return r.pid == t.Parent }) {
			all = append(all, running{names[i], t.PID, t.Folder})
		}
	}
	return all
}

// runs says whether a process is that of a program: its file is called so, or it is the script of an interpreter.
func runs(t procstat.Terminal, program string) bool {
	if filepath.Base(t.Args[0]) == program {
		return true
	}
	interpreter := slices.Contains([]string{"node", "bun"}, filepath.Base(t.Args[0]))
	return interpreter && len(t.Args) > 1 && strings.TrimSuffix(filepath.Base(t.Args[1]), ".js") == program
}

// sessionsOf gives the processes of the sessions of a folder's project.
func (a *app) sessionsOf(ctx context.Context, folder string) (pids []int) {
	root, _, err := project.FindRoot(a.getenv, folder)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(root); err != nil {
		return nil
	}
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		return nil
	}
	defer b.Close()
	sessions, _ := b.Sessions(ctx)
	for _, s := range sessions {
		pids = append(pids, s.PID)
	}
	return pids
}
