package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"c2c/doctor"
	"c2c/process/procstat"
)

// checkPrograms tells of processes of c2c that run another build than the one that is installed: they were started before an
// update, or belong to another c2c. Builds without an id are told apart by their files. checkServe looks at the HTTP daemon.
func (c checkup) checkPrograms() (found []doctor.Finding) {
	own, err := os.Stat(c.c2c + "d")
	if err != nil {
		return nil
	}
	build := procstat.BuildID(c.c2c + "d")
	for _, p := range procstat.Programs("c2cd") {
		same := os.SameFile(p.File, own) || build != "" && procstat.BuildID(fmt.Sprintf("/proc/%d/exe", p.PID)) == build
		if same || len(p.Args) < 2 || !slices.Contains(p.Env, "HOME="+c.getenv("HOME")) {
			continue
		}
		cure := ""
		switch p.Args[1] {
		case "wake":
			cure = "c2c wake restart"
		case "wire-daemon":
			cure = "c2c wire-daemon restart, with its --alias"
		case "mcp", "plugin":
			cure = fmt.Sprintf("close the session that it serves, and open it again (process %d%s)", p.Parent, named(p.Parent))
		case "start":
			cure = "close the session in its terminal, and open it again"
		default:
			continue // it ends by itself
		}
		found = append(found, doctor.Finding{Status: doctor.Warning, Part: "process " + fmt.Sprint(p.PID),
			Detail: "c2c " + p.Args[1] + " runs another version of c2c than this one: " + cure})
	}
	return found
}

// named is the name of a process, for a person who looks for it.
func named(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return ", " + strings.TrimSpace(string(name))
}
