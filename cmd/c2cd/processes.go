package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"c2c/client"
	"c2c/internal/format"
	"c2c/internal/proc"
	"c2c/serve/outside"
)

// checkServe checks the HTTP daemon. It reports nothing if no daemon has ever run.
func (c Checkup) checkServe(ctx context.Context) []format.Finding {
	f := format.Finding{Status: format.OK, Part: "HTTP daemon"}
	d, err := openHTTP(c.Getenv, false)
	if err != nil {
		return []format.Finding{format.Failed(f.Part, "", err)}
	}
	defer d.Close()
	if d.Dir == nil {
		return nil
	}
	f.Path = d.Log()
	outside, damage := outside.OpenSenders(d.Dir, time.Now).All()
	st, err := d.Look(ctx, c.Program+"d")
	switch {
	case err != nil:
		return []format.Finding{format.Failed(f.Part, f.Path, err)}
	case st.Stranger:
		f.Status, f.Detail = format.Problem, "does not run, and "+st.WarnStranger()
	case st.Token != "" && !st.Private:
		f.Status, f.Path, f.Detail = format.Problem, st.Token, "others may read its token: run c2c serve rotate-token"
	case !st.Running && st.Reaped:
		f.Status, f.Detail = format.Warning, "was killed, and its port file is removed: c2c serve start"
	case !st.Running && len(outside) > 0:
		f.Status, f.Detail = format.Warning, "does not run, so senders outside (c2c senders list) reach no session: c2c serve start"
	case !st.Running:
		f.Path, f.Detail = "", "does not run; only clients that c2c reaches over HTTP need it"
	case !st.Answers:
		f.Status, f.Detail = format.Problem, fmt.Sprintf("process %d does not answer at %s: c2c serve restart", st.PID, st.URL)
	case st.Other:
		f.Status, f.Detail = format.Warning, fmt.Sprintf("process %d is another build of c2c than the one that is installed: c2c serve restart", st.PID)
	default:
		f.Detail = fmt.Sprintf("runs, process %d, %s", st.PID, st.URL)
	}
	found := []format.Finding{f}
	if n := panics(d.Log()); n > 0 {
		found = append(found, format.Finding{Status: format.Warning, Part: f.Part, Path: d.Log(),
			Detail: fmt.Sprintf("panics in its log: %d. They are mistakes of c2c: report their lines, those with level=ERROR, then empty the log", n)})
	}
	if damage != nil {
		found = append(found, format.Finding{Status: format.Problem, Part: "senders", Detail: fmt.Sprintf("%v; nobody may write from outside: %s", damage, RepairSenders)})
	}
	return found
}

// panics counts the panics in a daemon's log. Each is logged with its stack. Within a logged text
// the quotation mark would be escaped.
func panics(log string) int {
	data, _ := os.ReadFile(log) // without a log there was no panic
	return bytes.Count(data, []byte(` stack="goroutine `))
}

// checkPrograms reports processes that run another build of c2c than the installed build. They were
// started before an update, or belong to another installation. Two programs are the same build if
// they are the same file or have the same build id. checkServe checks the HTTP daemon in this way.
func (c Checkup) checkPrograms() (found []format.Finding) {
	own, err := os.Stat(c.Program + "d")
	if err != nil {
		return nil
	}
	build := proc.BuildID(c.Program + "d")
	for _, p := range ownPrograms(c.Getenv) {
		if os.SameFile(p.File, own) || build != "" && proc.BuildID(fmt.Sprintf("/proc/%d/exe", p.PID)) == build {
			continue
		}
		cure := ""
		switch p.Args[1] {
		case "wake":
			cure = "c2c wake restart"
		case "wire-daemon":
			cure = "c2c wire-daemon restart, with its --alias"
		case "mcp", "plugin":
			cure = fmt.Sprintf("close the session that it serves, and open it again (process %d, %s)", p.Parent, nameOf(p.Parent))
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

// Served names the clients in which programs of c2c still run, such as "claude (process 12)". It
// also names each process of c2c start, unless one of these clients runs below it.
func Served(getenv func(string) string) (clients []string) {
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
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return cmp.Or(client.Running(client.ArgsOf(pid)), strings.TrimSpace(string(name)), "a program that c2c cannot see")
}
