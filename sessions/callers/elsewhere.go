package callers

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/processes"
	"c2c/sessions/registry"
)

// Elsewhere searches the user's other projects for an alias or a session id that this project does not have. It returns a sentence that
// names the session's folder, or says that the session has ended; "" if no other project has such a session. If the system's superuser
// calls, it searches the projects of all users. It reads every registry, so call it only to explain an error.
func Elsewhere(getenv func(string) string, root, alias string) string {
	w := whereabouts{proc: &processes.System{}, home: getenv("HOME"), root: root, alias: alias, isOf: func(folder, root string) bool {
		found, _, err := project.FindRoot(getenv, folder)
		return err == nil && found == root
	}}
	for _, state := range project.States(getenv) {
		w.look(state, "")
	}
	if os.Geteuid() == 0 {
		w.lookAsRoot("/etc/passwd")
	}
	return w.sentence()
}

// whereabouts is one search of Elsewhere.
type whereabouts struct {
	proc  processes.Table
	home  string
	root  string // the root of the caller's project
	alias string

	isOf func(folder, root string) bool // reports whether the folder belongs to the root, because a client may have changed its folder

	folders []string // where the session runs
	owner   string   // the other user that owns the session
	hidden  bool     // the session runs in a folder that c2c cannot find out
	ended   bool     // a registry has the session, but it has ended
}

// maxRoots bounds how many projects the search reads.
const maxRoots = 1000

// look reads the registries in a state directory. They may belong to another user, so it does not trust them.
func (w *whereabouts) look(state, owner string) {
	repos, _ := os.ReadDir(filepath.Join(state, project.ReposDir))
	for _, repo := range repos[:min(len(repos), maxRoots)] {
		dir := filepath.Join(state, project.ReposDir, repo.Name(), "broker")
		if !repo.IsDir() || dir == w.root { // a link leads to a root that the search also reads
			continue
		}
		data, err := atomicfile.ReadForeign(filepath.Join(dir, registry.FileName), 16*registry.MaxBytes)
		if err != nil {
			continue
		}
		rows, _ := registry.ParseRegistry(data)
		for _, r := range rows {
			if sessions.Fold(r.Alias()) == sessions.Fold(w.alias) || r.SID() == w.alias {
				w.found(r, dir, owner)
			}
		}
	}
}

// found records the folder in which a session's client runs.
func (w *whereabouts) found(r registry.Row, root, owner string) {
	p, err := w.proc.Find(int(r.Integer("pid")))
	if err != nil || !r.HasProcess(p.PID, p.Start) {
		w.ended = true
		return
	}
	folder, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
	if err != nil || owner == "" && !w.isOf(folder, root) {
		w.hidden = true
		return
	}
	if rest, below := strings.CutPrefix(folder, w.home+"/"); below && w.home != "" && owner == "" {
		folder = "~/" + rest
	}
	if !slices.Contains(w.folders, folder) {
		w.folders, w.owner = append(w.folders, folder), cmp.Or(w.owner, owner)
	}
}

// lookAsRoot searches the home directories of all other users. Only the system's superuser may read them.
func (w *whereabouts) lookAsRoot(passwd string) {
	data, _ := os.ReadFile(passwd)
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(line, ":"); len(f) > 5 && f[2] != "0" && len(w.folders) == 0 {
			w.look(filepath.Join(f[5], ".c2c"), f[0])
		}
	}
}

func (w *whereabouts) sentence() string {
	alias := mail.Visible(w.alias, "")
	switch {
	case len(w.folders) == 0 && w.hidden:
		return alias + " is in another project: run c2c in that folder"
	case len(w.folders) == 0 && w.ended:
		return alias + " was in another project, and its session has ended; c2c list shows the sessions of this one"
	case len(w.folders) == 0:
		return ""
	}
	const most = 3
	folders := mail.Visible(strings.Join(w.folders[:min(len(w.folders), most)], " and in "), "")
	if w.owner != "" {
		return fmt.Sprintf("%s is a session of %s in %s: run c2c there, as %[2]s", alias, mail.Visible(w.owner, ""), folders)
	}
	return fmt.Sprintf("%s is in %s: run c2c there", alias, folders)
}
