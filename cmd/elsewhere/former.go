package elsewhere

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"c2c/broker/explain"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions/registry"
)

// FormerRoot is a root that a project had before its git remote was changed or its folder renamed, or a root that an older version made.
type FormerRoot struct {
	Path    string
	Running []string // the aliases of sessions that run
	Ended   []string // and of those that have ended
	PIDs    []int    // the processes of those that run

	sids  []string
	known bool // c2c migrate-root finds it, as project.Roots does
}

// Former returns the former roots of the project around cwd. The first are those that project.Roots finds. The others have a session that
// runs in this project, and for whose root there is no folder any more.
func Former(getenv func(string) string, cwd string) (all []FormerRoot) {
	recorded, others, err := project.Roots(getenv, cwd)
	root, source, ferr := project.FindRoot(getenv, cwd)
	if err != nil || ferr != nil || source == "C2C_MCP_BROKER_ROOT" {
		return nil
	}
	for _, other := range append([]string{recorded}, others...) {
		if _, err := os.Stat(other); other != root && err == nil { // the root of this folder need not be the recorded one, into which c2c migrate-root merges
			all = append(all, FormerRoot{Path: other, known: true})
		}
	}
	find := newRoots(getenv)
	for _, state := range project.States(getenv) {
		registries(state, func(rows []registry.Row, dir string) {
			i := slices.IndexFunc(all, func(f FormerRoot) bool { return isSame(f.Path, dir) })
			if i < 0 && dir != root && slices.ContainsFunc(rows, func(r registry.Row) bool { return find.leads(r, dir, root) }) {
				i, all = len(all), append(all, FormerRoot{Path: dir})
			}
			for _, r := range rows {
				if i >= 0 {
					all[i].add(r, find)
				}
			}
		})
	}
	return all
}

// leads reports whether a session runs in a folder that belongs to the root now, and none of its folders to the root former.
func (r roots) leads(row registry.Row, former, root string) bool {
	pid, runs := r.alive(row)
	if !runs {
		return false
	}
	now, _ := r.folders(pid)
	return r.isOf(now, root) && r.folder(pid, former) == ""
}

func isSame(one, other string) bool {
	if one == other {
		return true
	}
	a, err := os.Stat(one)
	b, berr := os.Stat(other)
	return err == nil && berr == nil && os.SameFile(a, b)
}

func (f *FormerRoot) add(r registry.Row, find roots) {
	f.sids = append(f.sids, r.SID())
	if pid, runs := find.alive(r); runs {
		f.Running, f.PIDs = append(f.Running, r.Alias()), append(f.PIDs, pid)
	} else {
		f.Ended = append(f.Ended, r.Alias())
	}
}

func (f *FormerRoot) has(alias string) bool {
	is := func(name string) bool { return strings.EqualFold(name, alias) }
	return slices.ContainsFunc(f.Running, is) || slices.ContainsFunc(f.Ended, is) || slices.Contains(f.sids, alias)
}

// sentence says that an alias, or some session, is in this root.
func (f *FormerRoot) sentence(alias string) string {
	who, is := alias, "is"
	if alias == "" {
		all := slices.Concat(f.Running, f.Ended)
		if who = explain.Few(all); len(all) != 1 {
			is = "are"
		}
	}
	return mail.Visible(fmt.Sprintf("%s %s in another root of this project: %s", who, is, f.Advice()), "")
}

// Advice says why the project has this other root, and what to do.
func (f *FormerRoot) Advice() string {
	merge := "run c2c migrate-root"
	if !f.known {
		merge += " " + f.Path
	}
	if len(f.Running) == 0 {
		return merge
	}
	return fmt.Sprintf("was its git remote changed, or its folder renamed? Change it back, or end %s, then %s", explain.Few(f.Running), merge)
}
