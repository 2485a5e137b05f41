package elsewhere

import (
	"fmt"
	"os"
	"slices"

	"c2c/broker/explain"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions/registry"
)

// FormerRoot is a root that a project had before its git remote was changed or its folder renamed, or a root that an older version made.
type FormerRoot struct {
	Path string
	PIDs []int // the processes of its sessions that run

	rows           []registry.Row
	aliases, alive []string // of all sessions, and of those that run
	known          bool     // c2c migrate-root finds it, as project.Roots does
}

// Former returns the former roots of the project around cwd. The first are those that project.Roots finds. The others have a session that
// runs in this project, and for whose root there is no folder any more.
func Former(getenv func(string) string, cwd string) (all []*FormerRoot) {
	recorded, others, err := project.Roots(getenv, cwd)
	root, source, ferr := project.FindRoot(getenv, cwd)
	if err != nil || ferr != nil || source == "C2C_MCP_BROKER_ROOT" {
		return nil
	}
	for _, other := range append(others, recorded) {
		if _, err := os.Stat(other); other != root && err == nil { // the root of this folder need not be the recorded one, into which c2c migrate-root merges
			all = append(all, &FormerRoot{Path: other, known: true})
		}
	}
	find := newRoots(getenv)
	for _, state := range project.States(getenv) {
		registries(state, func(rows []registry.Row, dir string) {
			for _, f := range all {
				if isSame(f.Path, dir) {
					if f.rows == nil { // else another name of the state directory has led here
						f.add(rows, find)
					}
					return
				}
			}
			if !isSame(dir, root) && slices.ContainsFunc(rows, func(r registry.Row) bool { return find.leads(r, dir, root) }) {
				f := &FormerRoot{Path: dir}
				f.add(rows, find)
				all = append(all, f)
			}
		})
	}
	return all
}

// leads reports whether a session runs in a folder that belongs to the root now, and none of its folders to the root former.
func (r roots) leads(row registry.Row, former, root string) bool {
	pid := r.alive(row)
	now, _ := r.folders(pid)
	return pid != 0 && r.isOf(now, root) && r.folder(pid, former) == "" && !isAnywhere(row, former)
}

func isSame(one, other string) bool {
	a, err := os.Stat(one)
	b, berr := os.Stat(other)
	return err == nil && berr == nil && os.SameFile(a, b)
}

func (f *FormerRoot) add(rows []registry.Row, find roots) {
	f.rows = rows
	for _, r := range rows {
		f.aliases = append(f.aliases, r.Alias())
		if pid := find.alive(r); pid != 0 {
			f.alive, f.PIDs = append(f.alive, r.Alias()), append(f.PIDs, pid)
		}
	}
}

// explains reports whether the root has a session with an alias or a session id; with "", whether it has any session.
func (f *FormerRoot) explains(alias string) bool {
	return slices.ContainsFunc(f.rows, func(r registry.Row) bool { return alias == "" || isNamed(r, alias) })
}

// sentence says that an alias is in this root; with "", which sessions are in it.
func (f *FormerRoot) sentence(alias string) string {
	if alias == "" {
		alias = explain.Few(f.aliases)
	}
	return mail.Visible("another root of this project has "+alias+": "+f.Advice(), "")
}

// Advice says why the project has this other root, and what to do.
func (f *FormerRoot) Advice() string {
	merge := "run c2c migrate-root"
	if !f.known {
		merge += " " + f.Path
	}
	if len(f.alive) == 0 {
		return merge
	}
	return fmt.Sprintf("was its git remote changed, or its folder renamed? Change it back, or end %s, then %s", explain.Few(f.alive), merge)
}
