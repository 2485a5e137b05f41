// Package elsewhere says where a session or a message may be that this project does not have: in another project, or in a former root of
// this one. It reads the registries of all roots, so call it only to explain why something was not found, and for c2c doctor.
package elsewhere

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/facts"
	"c2c/sessions/processes"
	"c2c/sessions/registry"
)

// Explain returns a sentence for the error that a project does not have an alias or a session id; it is "" if nothing is known. For the
// alias "" it explains why a list is empty or a message was not found: only a former root of the project explains this. If the system's
// superuser looks for an alias, Explain searches the projects of all users.
func Explain(getenv func(string) string, cwd, alias string) string {
	root, source, err := project.FindRoot(getenv, cwd)
	if err != nil || source == "C2C_MCP_BROKER_ROOT" {
		return ""
	}
	for _, f := range Former(getenv, cwd) {
		if f.explains(alias) {
			return f.sentence(alias)
		}
	}
	if alias == "" {
		return ""
	}
	w := whereabouts{roots: newRoots(getenv), home: getenv("HOME"), root: root, alias: alias}
	for _, state := range project.States(getenv) {
		w.look(state, "")
	}
	if os.Geteuid() == 0 {
		w.lookAsRoot("/etc/passwd")
	}
	return w.sentence()
}

// roots finds the processes of sessions, and the folders of their projects.
type roots struct {
	proc processes.Table
	isOf func(folder, root string) bool // reports whether there is such a folder, and it belongs to the root now
}

func newRoots(getenv func(string) string) roots {
	return roots{&processes.System{}, func(folder, root string) bool {
		if _, err := os.Stat(folder); err != nil || !filepath.IsAbs(folder) {
			return false
		}
		found, _, err := project.FindRoot(getenv, folder)
		return err == nil && found == root
	}}
}

// alive returns the process of a session's client, or 0 if it has ended.
func (r roots) alive(row registry.Row) (pid int) {
	p, err := r.proc.Find(int(row.Integer("pid")))
	if err != nil || !row.HasProcess(p.PID, p.Start) {
		return 0
	}
	return p.PID
}

// folders returns the folder where a process is now, and the folder where it was started; each may be "".
func (r roots) folders(pid int) (now, began string) {
	now, _ = os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	return now, processes.Environment(r.proc.Environ(pid))("PWD")
}

// folder returns the folder of a process that belongs to a root; "" if there is none. A client may have changed its folder.
func (r roots) folder(pid int, root string) string {
	now, began := r.folders(pid)
	for _, folder := range []string{now, began} {
		if r.isOf(folder, root) {
			return folder
		}
	}
	return ""
}

// isAnywhere reports whether the folder of a process says nothing about a session in a root: the process serves the sessions of many
// projects, or the client calls over HTTP and can name any folder.
func isAnywhere(row registry.Row, root string) bool {
	if p, _ := client.Find(row.Text("client_type")); p.SharedProcess {
		return true
	}
	dir, err := atomicfile.Open(filepath.Join(root, facts.Directory))
	if err != nil {
		return false
	}
	defer dir.Close()
	known, _ := facts.ReadIn(dir, row.SID())
	return known.Transport == sessions.TransportHTTP
}

// maxRoots bounds how many roots a search reads.
const maxRoots = 1000

// registries calls the function do for each root in a state directory, with its rows. The files may belong to another user, so they are not
// trusted. A link leads to a root that the search also reads.
func registries(state string, do func(rows []registry.Row, root string)) {
	repos, _ := os.ReadDir(filepath.Join(state, project.ReposDir))
	for _, repo := range repos[:min(len(repos), maxRoots)] {
		dir := filepath.Join(state, project.ReposDir, repo.Name(), "broker")
		if !repo.IsDir() {
			continue
		}
		data, err := atomicfile.ReadForeign(filepath.Join(dir, registry.FileName), 16*registry.MaxBytes)
		if err != nil {
			continue
		}
		rows, _ := registry.ParseRegistry(data)
		do(rows, dir)
	}
}

func isNamed(r registry.Row, alias string) bool {
	return sessions.Fold(r.Alias()) == sessions.Fold(alias) || r.SID() == alias
}

// whereabouts is one search for an alias in other projects.
type whereabouts struct {
	roots
	home  string
	root  string // the root of the caller's project
	alias string

	folders []string // where the session runs
	owner   string   // the other user that owns the session
	lost    string   // the session runs in this folder, but the folder belongs to another root than the session
	hidden  bool     // the session runs in a folder that c2c cannot find out
	ended   string   // a session that has ended was in this root
}

func (w *whereabouts) look(state, owner string) {
	registries(state, func(rows []registry.Row, root string) {
		for _, r := range rows {
			if isNamed(r, w.alias) && !isSame(root, w.root) {
				w.found(r, root, owner)
			}
		}
	})
}

// found records the folder in which a session's client runs.
func (w *whereabouts) found(r registry.Row, root, owner string) {
	pid := w.alive(r)
	if pid == 0 {
		if owner == "" { // the mail of another user is not for this one
			w.ended = root
		}
		return
	}
	now, _ := w.roots.folders(pid)
	folder := now
	if owner == "" {
		folder = w.folder(pid, root)
	}
	path := cmp.Or(folder, now)
	if rest, below := strings.CutPrefix(path, w.home+"/"); below && w.home != "" && owner == "" {
		path = "~/" + rest
	}
	switch {
	case path == "", folder == "" && isAnywhere(r, root):
		w.hidden = true
	case folder == "":
		w.lost = path
	case !slices.Contains(w.folders, path):
		w.folders, w.owner = append(w.folders, path), cmp.Or(w.owner, owner)
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
	case len(w.folders) == 0 && w.lost != "":
		return fmt.Sprintf("%s runs in %s, but c2c finds another root there than its own; c2c doctor there says what to do", alias, mail.Visible(w.lost, ""))
	case len(w.folders) == 0 && w.hidden:
		return alias + " is in another project: run c2c in the folder where it was started; if that was renamed, change its name back"
	case len(w.folders) == 0 && w.ended != "":
		return alias + " was in another project, and its session has ended; c2c list shows the sessions of this one. If it is this project, before its folder was renamed or its remote changed: c2c migrate-root " + mail.Visible(w.ended, "")
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
