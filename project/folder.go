package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/internal/atomicfile"
)

// foldersDir has a link for each repository in which c2c was used. The link leads nowhere: its text
// is a folder, with the root that was last used there. So a changed remote and a renamed folder are
// noticed, and c2c can say where a project is. Each earlier root of the repository has a link of
// its own, <name of the first link>.<root>, which is made before the first link is replaced.
const foldersDir = "folders"

// maxFolders bounds how many links are read when c2c is first used in a folder, or with another
// root.
const maxFolders = 4096

// Folder is a repository, as it was when c2c began to use a root in it.
type Folder struct {
	Path   string // its top directory
	Remote string // the name of its remote; "" if it had none, or one on this machine
	root   string // the fingerprint of its root
	own    bool   // a person has split the repository from the other clones of its remote: it is a project of its own
	file   string // identity of git's directory: it stays the same if the folder is renamed, and another repository there has another one
}

func (f Folder) text() string {
	mark := ""
	if f.own {
		mark = ownMark
	}
	return fmt.Sprintf("%s%s %s %s|%s", mark, f.root, f.file, f.Remote, f.Path)
}

// ownMark begins the text of a link to a folder that is a project of its own.
const ownMark = "+"

// String says for people where a project is.
func (f Folder) String() string {
	switch {
	case f.Remote == "":
		return f.Path
	case f.own:
		return f.Path + " (split from " + f.Remote + ")"
	}
	return f.Path + " (" + f.Remote + ")"
}

// folderAt reads a link in foldersDir.
func folderAt(state, name string) (f Folder, err error) {
	text, err := os.Readlink(filepath.Join(state, foldersDir, name))
	if err != nil {
		return f, err
	}
	head, path, _ := strings.Cut(text, "|")
	head, own := strings.CutPrefix(head, ownMark)
	words := strings.SplitN(head, " ", 3)
	if len(words) < 3 || !isFingerprint(words[0]) || !filepath.IsAbs(path) {
		return f, nil
	}
	return Folder{Path: path, Remote: words[2], root: words[0], file: words[1], own: own}, nil
}

// folders calls do with each folder in a state directory, sorted by the names of the links.
func folders(state string, do func(name string, f Folder)) error {
	entries, err := os.ReadDir(filepath.Join(state, foldersDir))
	for _, e := range entries[:min(len(entries), maxFolders)] {
		if f, err := folderAt(state, e.Name()); err == nil && f.root != "" {
			do(e.Name(), f)
		}
	}
	return atomicfile.UnlessAbsent(err)
}

// FoldersOf returns the folders that were used with a root. They may be gone.
func FoldersOf(root string) (all []Folder) {
	folders(StateOf(root), func(_ string, f Folder) {
		if f.root == filepath.Base(filepath.Dir(root)) {
			all = append(all, f)
		}
	})
	return all
}

// Used is the root of a project of this user, with its folders that are there now.
type Used struct {
	Root    string
	Folders []Folder
}

// All returns the roots of all projects of this user that can be read.
func All(getenv func(string) string) (all []Used) {
	for _, state := range States(getenv) {
		some, _ := In(state)
		all = append(all, some...)
	}
	return all
}

// In returns the roots of all projects in a state directory; none if state is "", see StateOf. After
// an error some roots or folders may be missing.
func In(state string) (all []Used, err error) {
	if state == "" {
		return nil, nil
	}
	of := map[string][]Folder{} // by root
	err = folders(state, func(_ string, f Folder) {
		if root := follow(state, f.root); isDir(f.Path) && !slices.ContainsFunc(of[root], func(o Folder) bool { return o.Path == f.Path }) {
			of[root] = append(of[root], f)
		}
	})
	roots, rerr := RootsIn(state)
	for _, r := range roots {
		all = append(all, Used{r.Path, of[filepath.Base(filepath.Dir(r.Path))]})
	}
	return all, errors.Join(err, rerr)
}

// Strangers returns the folders of other projects than that around cwd which have a root now, by
// their present remote and path.
func Strangers(getenv func(string) string, cwd, root string) (all []Folder) {
	own, err := Find(getenv, cwd)
	for _, f := range FoldersOf(root) {
		other, ferr := Find(getenv, f.Path)
		if err == nil && ferr == nil && other.Path == root && other.project.key() != own.project.key() {
			all = append(all, f)
		}
	}
	return all
}

// key is the same for all clones and work trees of a project.
func (p project) key() string { return cmp.Or(p.name, p.own) }

// StateOf returns the state directory that a root is in; "" if the root is elsewhere, because
// C2C_MCP_BROKER_ROOT names it.
func StateOf(root string) string {
	if repos := filepath.Dir(filepath.Dir(root)); filepath.Base(repos) == ReposDir {
		return filepath.Dir(repos)
	}
	return ""
}

// lastUsed finds the root that was last used in the folder of the project. If the project was split
// from other clones, this root is its own. A folder that was renamed stays split.
func (p *Place) lastUsed() (last Folder) {
	if p.project.dir == "" {
		return last
	}
	p.folder, p.folderName = Folder{Path: p.project.folder, Remote: p.project.remote}, fingerprint("folder\x00"+p.project.dir)
	last, _ = folderAt(p.state, p.folderName)
	if last.own {
		p.folder.own = last.file == identity(p.project.dir) // else another repository was here
	}
	if last.root == "" {
		for _, f := range p.formerFolders() {
			if f.own {
				p.folder.own, last.root = true, f.root
			}
		}
		if p.folder.own {
			return Folder{root: last.root}
		}
	}
	return last
}

// remember notes the root that is used now. If it is not the last one, or c2c has never been used
// here, Record has to write it.
func (p *Place) remember(root string, last Folder) {
	if p.project.dir == "" {
		return
	}
	if p.folder.root = root; last.root != root || last.own != p.folder.own {
		p.changed, p.former = true, p.formerFolders()
		for _, f := range p.former {
			p.Former = append(p.Former, filepath.Join(p.state, ReposDir, f.root, "broker"))
		}
	}
}

// formerFolders returns the folder of the project with each other root that it has had, the last
// one first. It reads all links.
func (p *Place) formerFolders() (all []Folder) {
	p.folder.file = identity(p.project.dir)
	folders(p.state, func(name string, f Folder) {
		if f.file == "" || f.file != p.folder.file {
			return // another repository, perhaps one that was here before
		}
		if of, _, _ := strings.Cut(name, "."); of != p.folderName {
			if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
				return // it was not renamed
			}
		}
		f.root, f.Path = follow(p.state, f.root), p.folder.Path
		if f.root != p.folder.root && isDir(filepath.Join(p.state, ReposDir, f.root, "broker")) {
			all = append(all, f)
		}
	})
	return all
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
