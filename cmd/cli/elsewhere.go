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
	w := whereabouts{getenv: getenv, alias: alias}
	for _, p := range Projects(getenv) {
		if !SameFile(p.Root, root) {
			w.look(p)
		}
	}
	return w.sentence(callers.IsAgent(getenv))
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

// whereabouts is one search for an alias in other projects.
type whereabouts struct {
	getenv func(string) string
	alias  string
	where  *Project // a project that has the alias
	runs   bool     // its session runs
}

// look searches a project. A session that runs counts more than one that has ended.
func (w *whereabouts) look(p Project) {
	for _, r := range rowsIn(p.Root) {
		if alive := isAlive(r); isNamed(r, w.alias) && !w.runs && (alive || w.where == nil) {
			w.where, w.runs = &p, alive
		}
	}
}

func (w *whereabouts) sentence(agent bool) string {
	if w.where == nil {
		return ""
	}
	alias, where := mail.Visible(w.alias, ""), mail.Visible(w.where.Name, "")
	switch {
	case !w.runs:
		return fmt.Sprintf("%s was in %s, and c2c does not see it run; c2c list shows the sessions of this project", alias, where)
	case agent:
		return fmt.Sprintf("%s is in %s, another project: write to %s@%s if your user has allowed that there", alias, where, alias, broker.ConfigOf(w.getenv, w.where.Root, nil).LabelOf(w.where.Root))
	case len(w.where.Folders) == 0:
		return fmt.Sprintf("%s is in %s", alias, where)
	}
	name := filepath.Base(w.where.Folders[len(w.where.Folders)-1].Path)
	return fmt.Sprintf("%s is in %s: run c2c there, or add --project %s to send, ask or list", alias, where, mail.Visible(name, ""))
}
