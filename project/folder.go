package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// foldersDir has a link for each repository in which c2c was used. The link leads nowhere: its text is a folder. So a changed remote and a
// renamed folder are noticed, and c2c can say where a project is.
const foldersDir = "folders"

// maxFolders bounds how many links are read when c2c is first used in a folder.
const maxFolders = 4096

// Folder is a repository, as it was when c2c was first used in it.
type Folder struct {
	Path   string // its top directory
	Remote string // the name of its remote; "" if it had none, or one on this machine
	root   string // the fingerprint of its root
	file   string // the device and inode of git's directory: it stays the same if the folder is renamed
}

func (f Folder) text() string { return fmt.Sprintf("%s %s %s|%s", f.root, f.file, f.Remote, f.Path) }

// String says for people where a project is.
func (f Folder) String() string {
	if f.Remote == "" {
		return f.Path
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
	words := strings.SplitN(head, " ", 3)
	if len(words) < 3 || !isFingerprint(words[0]) || !filepath.IsAbs(path) {
		return f, nil
	}
	return Folder{path, words[2], words[0], words[1]}, nil
}

// folders calls do with each folder in a state directory.
func folders(state string, do func(Folder)) {
	entries, _ := os.ReadDir(filepath.Join(state, foldersDir))
	for _, e := range entries[:min(len(entries), maxFolders)] {
		if f, err := folderAt(state, e.Name()); err == nil && f.root != "" {
			do(f)
		}
	}
}

// FoldersOf returns the folders that were first used with a root. They may be gone.
func FoldersOf(root string) (all []Folder) {
	folders(stateOf(root), func(f Folder) {
		if f.root == filepath.Base(filepath.Dir(root)) {
			all = append(all, f)
		}
	})
	return all
}

// Strangers returns the folders of other projects than that around cwd which have a root now, by their present remote and path.
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

// stateOf returns the state directory of a root.
func stateOf(root string) string { return filepath.Dir(filepath.Dir(filepath.Dir(root))) }

// remember finds the folder of the project, as it was when c2c was first used in it. If it had another root then, p.Former is that root.
// Otherwise, or if c2c has never been used here, p.folder is what Record has to write.
func (p *Place) remember(root string) {
	if p.project.dir == "" {
		return
	}
	p.folder, p.folderName = Folder{p.project.folder, p.project.remote, root, ""}, fingerprint("folder\x00"+p.project.dir)
	was, err := folderAt(p.state, p.folderName)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(p.project.dir); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				p.folder.file = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
			}
		}
		folders(p.state, func(f Folder) {
			if _, err := os.Stat(f.Path); f.file == p.folder.file && errors.Is(err, fs.ErrNotExist) {
				was = f // it was renamed
			}
		})
		if p.folder.root = was.root; was.root == "" {
			p.folder.root = root
			return
		}
	} else {
		p.folderName = "" // it is written
	}
	if was.root == "" || was.root == root {
		return
	}
	if had := follow(p.state, was.root); had != root {
		if former := filepath.Join(p.state, ReposDir, had, "broker"); isDir(former) {
			p.Former = former
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
