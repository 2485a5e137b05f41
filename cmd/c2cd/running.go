// This part finds running AI programs that were started without c2c.

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
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/proc"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// runningClient is an AI program that runs in a terminal, but has no session of c2c: it was started
// before c2c was set up for it.
type runningClient struct {
	Client string
	PID    int
	Folder string
}

// sentence tells the client's person what to do.
func (r runningClient) sentence(getenv func(string) string) string {
	do := "restart it"
	if p, _ := client.Find(r.Client); p.ReadsHooksAnew {
		do = "type a prompt there, or restart it"
	}
	return fmt.Sprintf("%s runs in %s already (pid %d): %s", r.Client, mail.Visible(cli.AtHome(getenv, r.Folder), ""), r.PID, do)
}

// unknownClients lists this user's clients that run in a terminal and have no session. A client may
// start itself again, so several processes may be one client: then it lists the first.
func unknownClients(ctx context.Context, getenv func(string) string, names []string) (all []runningClient) {
	parents, clients := family{}, []runningClient{}
	for _, t := range proc.Terminals() {
		parents[t.PID] = t.Parent
		i := slices.IndexFunc(names, func(name string) bool { return runs(t, client.ProgramOf(name)) })
		if i >= 0 && slices.Contains(t.Env, "HOME="+getenv("HOME")) { // with another HOME the client reads other settings
			clients = append(clients, runningClient{names[i], t.PID, t.Folder})
		}
	}
	for _, c := range clients {
		isThis := func(s sessions.Session) bool {
			return (s.Client == c.Client || s.Client == "") && (parents.isBelow(s.PID, c.PID) || parents.isBelow(c.PID, s.PID))
		}
		isFirst := func(o runningClient) bool {
			return o.Client == c.Client && o.PID != c.PID && parents.isBelow(c.PID, o.PID)
		}
		if !slices.ContainsFunc(c.sessions(ctx, getenv), isThis) && !slices.ContainsFunc(clients, isFirst) {
			all = append(all, c)
		}
	}
	return all
}

// family has the parent of each process that has a terminal.
type family map[int]int

// isBelow reports whether the process pid is the process ancestor, or a descendant of it.
func (f family) isBelow(pid, ancestor int) bool {
	for n := 0; pid != 0 && n <= len(f); n++ { // bounded: an id may be used again, and then the parents may form a circle
		if pid == ancestor {
			return true
		}
		pid = f[pid]
	}
	return false
}

// runs reports whether a process runs a program: the started file has the program's name, or an
// interpreter runs a script of that name.
func runs(t proc.Terminal, program string) bool {
	if filepath.Base(t.Args[0]) == program {
		return true
	}
	interpreter := slices.Contains([]string{"node", "bun"}, filepath.Base(t.Args[0]))
	return interpreter && len(t.Args) > 1 && strings.TrimSuffix(filepath.Base(t.Args[1]), ".js") == program
}

// sessions returns all sessions in the root of the client's session; without a session, in that of
// its folder.
func (c runningClient) sessions(ctx context.Context, getenv func(string) string) []sessions.Session {
	root, _, _ := broker.RootFor(callers.Caller{Client: c.Client, PID: c.PID, Getenv: getenv}, c.Folder)
	return sessionsIn(ctx, root)
}

// sessionsIn returns the sessions in a root; none if they cannot be read.
func sessionsIn(ctx context.Context, root string) []sessions.Session {
	if _, err := os.Stat(root); err != nil {
		return nil
	}
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		return nil
	}
	defer b.Close()
	all, _ := b.Sessions(ctx)
	return all
}
