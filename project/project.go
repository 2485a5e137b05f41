package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/digest"
)

// Directories of the state directory.
const (
	ReposDir    = "repos"    // a root for each fingerprint, or a link to the root of another one
	ProjectsDir = "projects" // a link to a root for each project
)

// project is a repository by its names. Only hashes of them are used.
type project struct {
	own    string // the fingerprint of the original: of the URL as it stands, or of the top level
	name   string // of all clones and work trees together; empty where own is all that there is
	remote string // what the name is made of, for a remote
	dir    string // git's own directory
}

func findProject(cwd string) (p project) {
	r := findRepository(cwd)
	p.own, p.dir = fingerprint(cmp.Or(r.url, r.top)), r.dir
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

// fingerprint is what the original makes of a URL or a top level.
func fingerprint(text string) string {
	if text == "" {
		return "default"
	}
	sum := digest.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:6])
}

// link is a name below the state directory that leads to a root: a relative symbolic link.
type link struct{ dir, name, root string }

// target is what such a link says. In repos the root stands beside it.
func (l link) target() string {
	if l.dir == ReposDir {
		return l.root
	}
	return filepath.Join("..", ReposDir, l.root)
}

// linked gives the root to which a link of ours leads. there says that the name exists: when it is no link of ours, it is a
// root of its own.
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

// follow gives the root behind a root that was merged into another one.
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

// decide finds the root of a project with a name, and the links that are missing. FindRoot says how.
func (p *place) decide() (root string) {
	own, name := p.project.own, p.project.name
	recorded, known := linked(p.state, ProjectsDir, name)
	other, there := linked(p.state, ReposDir, own)
	switch {
	case there && other == "":
		root = own
		if recorded != "" && recorded != own && follow(p.state, recorded) != own {
			l := link{ProjectsDir, name + "." + own, own} // so that doctor knows it in every clone
			if _, known := linked(p.state, l.dir, l.name); !known {
				p.links = append(p.links, l)
			}
		}
	case recorded != "":
		root = follow(p.state, recorded)
	case other != "" && p.project.remote != "":
		root = follow(p.state, other)
	case other != "": // a work tree of another repository was at this path once
		root = name
	default:
		root = p.spelled()
	}
	// What was not there a moment ago is made, and not looked for again: when it is there by now, all is decided anew.
	if !known {
		p.links = append(p.links, link{ProjectsDir, name, root})
	}
	if !there && root != own {
		p.links = append(p.links, link{ReposDir, own, root})
	}
	return root
}

// spelled gives the root of another spelling of the URL that is there already, or else the project's own.
func (p *place) spelled() string {
	for _, url := range spellings(p.project.remote) {
		if fp := fingerprint(url); fp != p.project.own {
			if _, there := linked(p.state, ReposDir, fp); there {
				return follow(p.state, fp)
			}
		}
	}
	return p.project.own
}

// Record makes the links that are missing. again says that another process was first with one. An error is not told:
// where no link can be made the root cannot be made either, and Open says why; one that is there is used.
func (p *place) Record() (again bool) {
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
