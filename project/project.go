package project

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"c2c/internal/atomicfile"
)

// Directories in the state directory.
const (
	ReposDir    = "repos"    // a directory for each fingerprint: a root, or a link to the root of another fingerprint
	ProjectsDir = "projects" // a link to a root for each project
)

// project has the names of a repository. The first two are hashes.
type project struct {
	own    string // the fingerprint of the URL as written; without a remote, from the path of the top directory
	name   string // the same for all clones and work trees; empty if there is only own
	remote string // the text from which name was made, if there is a remote
	dir    string // git's own directory
	folder string // the top directory; of the main work tree, if there are several
}

func findProject(cwd string) (p project) {
	r := findRepository(cwd)
	p.own, p.dir = fingerprint(cmp.Or(r.url, r.top)), r.dir
	if p.folder = r.top; filepath.Base(r.dir) == ".git" {
		p.folder = filepath.Dir(r.dir)
	}
	remote, ok := remoteName(r.url)
	switch {
	case ok:
		p.name, p.remote = fingerprint("remote\x00"+remote), remote // no URL has a NUL
	case r.url == "" && r.top != "":
		dir, err := filepath.EvalSymlinks(r.dir)
		if err != nil {
			dir = r.dir
		}
		p.name = fingerprint("work trees\x00" + dir)
	}
	return p
}

// fingerprint hashes a URL or a top level; see docs/compatibility.md.
func fingerprint(text string) string {
	if text == "" {
		return "default"
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:6])
}

// link is a relative symbolic link in the state directory: <dir>/<name> leads to the root <root>.
type link struct{ dir, name, root string }

// target is the text of the link. A link in ReposDir is in the same directory as its root.
func (l link) target() string {
	if l.dir == ReposDir {
		return l.root
	}
	return filepath.Join("..", ReposDir, l.root)
}

// linked returns the root to which a link of ours leads. The result there reports whether the name
// exists. If the name exists and the result root is "", the name is not a link of ours, but a root.
func linked(state, dir, name string) (root string, there bool) {
	text, err := os.Readlink(filepath.Join(state, dir, name))
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	if root = filepath.Base(text); text != (link{dir, name, root}).target() || !isFingerprint(root) || dir == ReposDir && root == name {
		return "", true
	}
	return root, true
}

func isFingerprint(s string) bool {
	return len(s) == 12 && strings.Trim(s, "0123456789abcdef") == ""
}

// follow returns the root into which a root was merged, or the root itself.
func follow(state, root string) string {
	for range 8 {
		next, _ := linked(state, ReposDir, root)
		if next == "" {
			break
		}
		root = next
	}
	return root
}

// RootAt returns a path that was written down earlier, if it is a root in the state directory; ""
// if it is anything else. If the root was merged since, RootAt returns the root that has its mail
// now.
func RootAt(state, path string) string {
	if name := filepath.Base(filepath.Dir(path)); isFingerprint(name) || name == "default" {
		if root := filepath.Join(state, ReposDir, name, "broker"); root == path {
			return filepath.Join(state, ReposDir, follow(state, name), "broker")
		}
	}
	return ""
}

// decide finds the root of a project that has a name, and adds the missing links to p.links. Find
// has the rules.
func (p *Place) decide() (root string) {
	own, name := p.project.own, p.project.name
	recorded, known := linked(p.state, ProjectsDir, name)
	other, there := linked(p.state, ReposDir, own)
	switch {
	case there && other == "":
		root = own
		if recorded != "" && recorded != own && follow(p.state, recorded) != own {
			l := link{ProjectsDir, name + "." + own, own} // it tells c2c doctor, in every clone, that the project has a second root
			if _, known := linked(p.state, l.dir, l.name); !known {
				p.links = append(p.links, l)
			}
		}
	case recorded != "":
		root = follow(p.state, recorded)
	case other != "" && p.project.remote != "":
		root = follow(p.state, other)
	case other != "": // another repository once had a work tree at this path
		root = name
	default:
		root = p.spelled()
	}
	// Record makes the links that were missing a moment ago. If another process has made one of
	// them meanwhile, Record reports this, and the caller decides anew.
	if !known {
		p.links = append(p.links, link{ProjectsDir, name, root})
	}
	if !there && root != own {
		p.links = append(p.links, link{ReposDir, own, root})
	}
	return root
}

// spelled returns the existing root of another spelling of the URL, or if there is none, the
// project's own root.
func (p *Place) spelled() string {
	for _, url := range spellings(p.project.remote) {
		if fp := fingerprint(url); fp != p.project.own {
			if _, there := linked(p.state, ReposDir, fp); there {
				return follow(p.state, fp)
			}
		}
	}
	return p.project.own
}

// Record makes the missing links. The result again is true if another process has made one of them
// first. Record returns no error: if a link cannot be made, a new root cannot be made either, and
// the call that opens the root returns the reason. An existing root can be used without the link.
func (p *Place) Record() (again bool) {
	p.recordFolder() // if it fails, the next call tries again
	for _, l := range p.links {
		dir, err := atomicfile.Create(filepath.Join(p.state, l.dir))
		if err != nil {
			return false
		}
		err = dir.Symlink(l.target(), l.name)
		if err == nil {
			err = dir.Sync()
		}
		dir.Close()
		if errors.Is(err, fs.ErrExist) {
			return true
		}
	}
	return false
}

// recordFolder makes the link to the folder name the root that is used now. If it is killed, no
// root is forgotten: the others have links.
func (p *Place) recordFolder() error {
	if !p.changed {
		return nil
	}
	dir, err := atomicfile.Create(filepath.Join(p.state, foldersDir))
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, f := range p.former {
		f.own = false // only the link to the folder's present root has the mark
		if err := dir.Symlink(f.text(), p.folderName+"."+f.root); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return dir.WriteNote(p.folderName, p.folder.text())
}

// TellRelay makes a running relay look for new roots, if Record has made a link. Call it after the
// root was made.
func (p *Place) TellRelay() {
	if len(p.links) == 0 {
		return
	}
	// The relay watches this file, and notices when a process closes it. If the file does not
	// exist, no relay ever ran.
	if f, err := os.OpenFile(filepath.Join(p.state, "relay", "wanted.lock"), os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
		f.Close()
	}
}
