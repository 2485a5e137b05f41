package project

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"c2c/internal/atomicfile"
)

// IsOwn reports whether a person has split the repository from the other clones of its remote.
func (p Place) IsOwn() bool { return p.folder.own }

// Split makes the repository around cwd a project of its own, with a root of its own. If own is
// false, it has the root of the other clones again. Mail stays where it is. A session that runs
// keeps its root, so the caller checks that none runs here. If Split is killed, the repository is
// split or not, as c2c list shows, and a second call does what is missing.
func Split(getenv func(string) string, cwd string, own bool) error {
	p, err := Find(getenv, cwd)
	switch {
	case err != nil:
		return err
	case p.state == "":
		return errors.New("C2C_MCP_BROKER_ROOT names the root here: unset it")
	case p.project.remote == "" && own:
		return fmt.Errorf("%s has no remote on a host: only the clones of such a remote can be split", cwd)
	case p.folder.own == own:
		return fmt.Errorf("%s %s", p.folder.Path, map[bool]string{true: "is a project of its own already", false: "is not split from its other clones"}[own])
	}
	p.former = p.formerFolders()
	if p.folder.own = own; own {
		p.folder.root, p.former = p.freshRoot(), nil
	} else {
		p.former = append(p.former, p.folder)
		p.folder.root = p.decide()
		if err := p.unmarkOthers(); err != nil {
			return err
		}
	}
	p.changed = true
	if err := p.recordFolder(); err != nil {
		return err
	}
	dir, err := atomicfile.Open(filepath.Join(p.state, foldersDir))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// freshRoot returns the root of the repository if it is split: the one that it had when it was
// split before, unless that was merged into another one.
func (p *Place) freshRoot() string {
	for n := 1; ; n++ {
		root := fingerprint(fmt.Sprintf("split %d\x00%s", n, cmp.Or(p.folder.file, p.project.dir)))
		if merged, _ := linked(p.state, ReposDir, root); merged == "" {
			return root
		}
	}
}

// unmarkOthers removes the mark from the links to earlier paths of the folder.
func (p *Place) unmarkOthers() (err error) {
	dir, err := atomicfile.Create(filepath.Join(p.state, foldersDir))
	if err != nil {
		return err
	}
	defer dir.Close()
	folders(p.state, func(name string, f Folder) {
		if f.own && f.file == p.folder.file && name != p.folderName {
			f.own = false
			err = errors.Join(err, dir.WriteNote(name, f.text()))
		}
	})
	return err
}
