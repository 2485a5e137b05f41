// This part says where a session or a message may be that this project does not have: in another
// project, or in a former root of this one. It reads the registries of all roots, so call it only
// to explain why something was not found, and for c2c doctor.

package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Elsewhere returns a sentence for the error that a project does not have an alias or a session id;
// it is "" if nothing is known. For the alias "" it explains why a list is empty or a message was
// not found: only a former root of the project explains this.
func Elsewhere(getenv func(string) string, cwd, alias string) string {
	root, source, err := broker.RootFor(callers.Caller{Getenv: getenv}, cwd)
	if err != nil || source == "C2C_MCP_BROKER_ROOT" {
		return ""
	}
	for _, f := range Former(getenv, cwd) {
		if f.explains(alias) {
			return f.sentence(alias, callers.IsAgent(getenv))
		}
	}
	if alias == "" {
		return ""
	}
	return inOther(getenv, root, alias, callers.IsAgent(getenv))
}

// OthersUsed completes a hint of an empty project for a person: whether other projects have sessions.
func OthersUsed(getenv func(string) string, cwd string) string {
	root, _ := broker.RootHere(getenv, cwd)
	used := func(p Project) bool { return !SameFile(p.Root, root) && len(rowsIn(p.Root)) > 0 }
	if callers.IsAgent(getenv) || project.Named(getenv) != "" || !slices.ContainsFunc(Projects(getenv), used) {
		return ""
	}
	return "; c2c list --everywhere shows your other projects"
}

// RunningAs returns the alias of the session whose client is a process; "" if none is known.
func RunningAs(getenv func(string) string, pid int) string {
	for _, p := range Projects(getenv) {
		for _, r := range rowsIn(p.Root) {
			if int(r.Integer("pid")) == pid && isAlive(r) {
				return mail.Visible(r.Alias(), "")
			}
		}
	}
	return ""
}

// isAlive reports whether the process of a session's client runs.
func isAlive(row sessions.Row) bool {
	p, err := new(sessions.SystemProcesses).Find(int(row.Integer("pid")))
	return err == nil && row.HasProcess(p.PID, p.Start)
}

func isNamed(r sessions.Row, alias string) bool {
	return sessions.Fold(r.Alias()) == sessions.Fold(alias) || r.SID() == alias
}

// inOther says in which other project than that of root an alias is; "" if none is known.
func inOther(getenv func(string) string, root, alias string, agent bool) string {
	var found *Project
	runs := false // its session runs: that counts more than one that has ended
	for _, p := range Projects(getenv) {
		if SameFile(p.Root, root) {
			continue
		}
		for _, r := range rowsIn(p.Root) {
			if isNamed(r, alias) && !runs && (found == nil || isAlive(r)) {
				found, runs = &p, isAlive(r)
			}
		}
	}
	if found == nil {
		return ""
	}
	return found.has(getenv, alias, runs, agent)
}

// has says that a project has an alias, and whether its session runs.
func (p Project) has(getenv func(string) string, alias string, runs, agent bool) string {
	alias, where := mail.Visible(alias, ""), mail.Visible(p.Name, "")
	switch {
	case !runs:
		return fmt.Sprintf("%s was in %s, and c2c does not see it run; c2c list shows the sessions of this project", alias, where)
	case agent:
		return fmt.Sprintf("%s is in %s, another project: write to %s@%s if your user has allowed that there", alias, where, alias, broker.ConfigOf(getenv, p.Root, nil).LabelOf(p.Root))
	case len(p.Folders) == 0:
		return fmt.Sprintf("%s is in %s", alias, where)
	}
	name := filepath.Base(p.Folders[len(p.Folders)-1].Path)
	return fmt.Sprintf("%s is in %s: run c2c there, or add --project %s to send, ask or list", alias, where, mail.Visible(name, ""))
}
