// This part says where a session or a message may be that this project does not have: in another
// project, or in a former root of this one. It reads the registries of all roots, so call it only
// to explain why something was not found, and for c2c doctor.

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	w := whereabouts{home: getenv("HOME"), root: root, alias: alias}
	for _, state := range project.States(getenv) {
		w.look(state)
	}
	return w.sentence()
}

// isAlive reports whether the process of a session's client runs.
func isAlive(row sessions.Row) bool {
	p, err := new(sessions.SystemProcesses).Find(int(row.Integer("pid")))
	return err == nil && row.HasProcess(p.PID, p.Start)
}

func isNamed(r sessions.Row, alias string) bool {
	return sessions.Fold(r.Alias()) == sessions.Fold(alias) || r.SID() == alias
}

// maxRoots bounds how many roots a search reads.
const maxRoots = 1000

// whereabouts is one search for an alias in other projects.
type whereabouts struct {
	home, root string // the root of the caller's project
	alias      string

	where string // the folder of a project that has the alias, or unknown
	runs  bool   // its session runs
}

const unknown = "another project"

// look searches the roots in a state directory. A link leads to a root that the search also reads.
// A session that runs counts more than one that has ended.
func (w *whereabouts) look(state string) {
	repos, _ := os.ReadDir(filepath.Join(state, project.ReposDir))
	for _, repo := range repos[:min(len(repos), maxRoots)] {
		root := filepath.Join(state, project.ReposDir, repo.Name(), "broker")
		if !repo.IsDir() || isSame(root, w.root) {
			continue
		}
		for _, r := range rowsIn(root) {
			alive := isAlive(r)
			if !isNamed(r, w.alias) || w.runs || !alive && w.where != "" {
				continue
			}
			w.where, w.runs = unknown, alive
			for _, f := range project.FoldersOf(root) {
				if _, err := os.Stat(f.Path); err != nil {
					continue
				}
				w.where = f.String()
				if rest, below := strings.CutPrefix(w.where, w.home+"/"); below && w.home != "" {
					w.where = "~/" + rest
				}
			}
		}
	}
}

func isSame(one, other string) bool {
	a, err := os.Stat(one)
	b, berr := os.Stat(other)
	return err == nil && berr == nil && os.SameFile(a, b)
}

func (w *whereabouts) sentence() string {
	alias, where := mail.Visible(w.alias, ""), mail.Visible(w.where, "")
	switch {
	case w.where == "":
		return ""
	case w.runs && w.where == unknown:
		return alias + " is in another project: run c2c in the folder where it was started"
	case w.runs:
		return fmt.Sprintf("%s is in %s: run c2c there", alias, where)
	}
	return fmt.Sprintf("%s was in %s, and its session has ended; c2c list shows the sessions of this project", alias, where)
}
