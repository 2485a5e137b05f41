// Package running finds running AI programs that were started without c2c.
package running

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

// Client is an AI program that runs in a terminal, but has no session of c2c: it was started before c2c was set up for it.
type Client struct {
	Client string
	PID    int
	Folder string
}

// Sentence tells the client's person what to do.
func (r Client) Sentence(home string) string {
	folder := r.Folder
	if rest, below := strings.CutPrefix(folder, home+"/"); below && home != "" {
		folder = "~/" + rest
	}
	do := "restart it"
	if p, _ := client.Find(r.Client); p.ReadsHooksAnew {
		do = "type a prompt there, or restart it"
	}
	return fmt.Sprintf("%s runs in %s already (pid %d): %s", r.Client, mail.Visible(folder, ""), r.PID, do)
}

// Unknown lists this user's clients that run in a terminal and have no session.
func Unknown(ctx context.Context, getenv func(string) string, names []string) (all []Client) {
	known := map[string][]int{} // from a directory to the processes of all sessions in its project
	for _, t := range procstat.Terminals() {
		i := slices.IndexFunc(names, func(name string) bool { return runs(t, client.ProgramOf(name)) })
		if i < 0 || !slices.Contains(t.Env, "HOME="+getenv("HOME")) { // with another HOME the client reads other settings
			continue
		}
		pids, looked := known[t.Folder]
		if !looked {
			pids = sessionsOf(ctx, getenv, t.Folder)
			known[t.Folder] = pids
		}
		if !slices.Contains(pids, t.PID) && !slices.Contains(pids, t.Parent) && !slices.ContainsFunc(all, func(r Client) bool { return r.PID == t.Parent }) {
			all = append(all, Client{names[i], t.PID, t.Folder})
		}
	}
	return all
}

// runs reports whether a process runs a program: its file has the program's name, or an interpreter runs a script with that name.
func runs(t procstat.Terminal, program string) bool {
	if filepath.Base(t.Args[0]) == program {
		return true
	}
	interpreter := slices.Contains([]string{"node", "bun"}, filepath.Base(t.Args[0]))
	return interpreter && len(t.Args) > 1 && strings.TrimSuffix(filepath.Base(t.Args[1]), ".js") == program
}

// sessionsOf returns the processes of all sessions in the project of a directory.
func sessionsOf(ctx context.Context, getenv func(string) string, folder string) (pids []int) {
	root, _, err := project.FindRoot(getenv, folder)
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
