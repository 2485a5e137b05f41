package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/internal/format"
	"c2c/internal/proc"
	"c2c/serve/outside"
)

// checkServe checks the HTTP daemon, and the senders outside, which need it. It reports nothing if
// it has never run and while all is well: checkDaemon says that it runs.
func (c checkup) checkServe(ctx context.Context) (found []format.Finding) {
	f := format.Finding{Status: format.Problem, Part: "HTTP daemon"}
	d, err := c.openHTTP(false)
	if err != nil {
		return []format.Finding{format.Failed(f.Part, "", err)}
	}
	defer d.Close()
	if d.Files == nil {
		return nil
	}
	outside, damage := outside.OpenSenders(d.Files, time.Now).All()
	st, err := d.Look(ctx)
	on, rerr := d.Switches()
	switch {
	case errors.Join(err, rerr) != nil:
		found = append(found, format.Failed(f.Part, d.State.Path(), errors.Join(err, rerr)))
	case st.Stranger:
		f.Detail = "does not run, and " + st.WarnStranger()
	case st.Token != "" && !st.Private:
		f.Path, f.Detail = st.Token, "others may read its token: run c2c serve rotate-token"
	case !st.Running && on.Of(servePart).Run == "" && len(outside) > 0:
		f.Status, f.Detail = format.Warning, "does not run, so senders outside (c2c senders list) reach no session: c2c serve start"
	case st.Running && !st.Answers:
		f.Detail = fmt.Sprintf("process %d does not answer at %s: c2c serve restart", st.PID, st.URL)
	case st.Running:
		f.Status, f.Detail = format.OK, "listens at "+st.URL
	}
	if f.Detail != "" {
		found = append(found, f)
	}
	if damage != nil {
		found = append(found, format.Finding{Status: format.Problem, Part: "senders", Detail: fmt.Sprintf("%v; nobody may write from outside: %s", damage, repairSenders)})
	}
	return found
}

// checkPrograms reports processes that run another build of c2c than the installed build. They were
// started before an update, or belong to another installation. Two programs are the same build if
// they are the same file or have the same build id. checkDaemon checks the daemon.
func (c checkup) checkPrograms() (found []format.Finding) {
	own, err := os.Stat(c.c2c + "d")
	if err != nil {
		return nil
	}
	build := proc.BuildID(c.c2c + "d")
	for _, p := range ownPrograms(c.getenv) {
		path, _ := proc.Executable(p.PID)
		if os.SameFile(p.File, own) || build != "" && proc.BuildID(path) == build {
			continue
		}
		cure := ""
		switch p.Args[1] {
		case "wire-daemon":
			cure = "c2c wire-daemon restart, with its --alias"
		case "mcp", "plugin":
			session := cmp.Or(cli.RunningAs(c.getenv, p.Parent), "the session that it serves")
			cure = fmt.Sprintf("close %s, and open it again (process %d, %s)", session, p.Parent, nameOf(p.Parent))
		case "start":
			cure = "close the session in its terminal, and open it again"
		default:
			continue // such a process ends by itself
		}
		found = append(found, format.Finding{Status: format.Warning, Part: "process " + fmt.Sprint(p.PID),
			Detail: "c2c " + p.Args[1] + " runs another version of c2c than this one: " + cure})
	}
	return found
}

// ownPrograms returns the running programs of c2c that serve the home of this user.
func ownPrograms(getenv func(string) string) []proc.Program {
	return slices.DeleteFunc(proc.Programs("c2cd"), func(p proc.Program) bool {
		return len(p.Args) < 2 || !slices.Contains(p.Env, "HOME="+getenv("HOME"))
	})
}

// served names the clients in which programs of c2c still run, such as "claude (process 12)". It
// also names each process of c2c start, unless one of these clients runs below it.
func served(getenv func(string) string) (clients []string) {
	var pids, starts []int
	for _, p := range ownPrograms(getenv) {
		switch p.Args[1] {
		case "mcp", "plugin":
			pids = append(pids, p.Parent)
		case "start":
			starts = append(starts, p.PID)
		}
	}
	within := map[int]bool{}
	for _, pid := range pids {
		for err := error(nil); pid > 1 && err == nil; {
			var stat proc.Stat
			stat, err = proc.Read(pid)
			pid = stat.Parent
			within[pid] = true
		}
	}
	starts = slices.DeleteFunc(starts, func(pid int) bool { return within[pid] })
	pids = append(pids, starts...)
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		name := nameOf(pid)
		if slices.Contains(starts, pid) {
			name = "c2c start"
		}
		clients = append(clients, fmt.Sprintf("%s (process %d)", name, pid))
	}
	return clients
}

// nameOf returns the name of the client that runs as a process, or else of the process.
func nameOf(pid int) string {
	_, name, _ := proc.Owner(pid)
	return cmp.Or(client.Running(proc.Args(pid)), name, "a program that c2c cannot see")
}
