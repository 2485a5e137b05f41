package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/project"
)

// Project is a project of this user.
type Project struct {
	Root    string // the directory with its mail
	Name    string // its folder, and its remote in brackets; or what is known of it
	Folders []project.Folder
}

// Projects returns all projects of this user. It reads a link for each folder in which c2c was
// used, so call it only for a person who looks at all projects, or to explain an error.
func Projects(getenv func(string) string) (all []Project) {
	for _, u := range project.All(getenv) {
		p := Project{u.Root, "a project whose folder is not known", u.Folders}
		if filepath.Base(filepath.Dir(u.Root)) == "default" {
			p.Name = "outside of all repositories"
		}
		if n := len(u.Folders); n > 0 {
			p.Name = AtHome(getenv, u.Folders[n-1].String())
		}
		all = append(all, p)
	}
	return all
}

// AtHome returns a path with ~ for the home directory.
func AtHome(getenv func(string) string, path string) string {
	if rest, below := strings.CutPrefix(path, getenv("HOME")+"/"); below && getenv("HOME") != "" {
		return "~/" + rest
	}
	return path
}

// FindProject finds a project of this user by a path, by the name of its remote, or by the last part
// of the one or the other.
func FindProject(getenv func(string) string, cwd, name string) (Project, error) {
	var found, all []Project
	root := ""
	if strings.Contains(name, "/") || strings.Trim(name, ".") == "" || name == "~" {
		path := name
		if rest, is := strings.CutPrefix(name, "~"); is {
			path = getenv("HOME") + rest
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		root, _ = broker.RootHere(getenv, path) // a path that is not there may be the name of a remote
	}
	for _, p := range Projects(getenv) {
		if isSame(p.Root, root) || slices.ContainsFunc(p.Folders, func(f project.Folder) bool {
			return name == f.Remote || name == filepath.Base(f.Path) || name == filepath.Base(f.Remote)
		}) {
			found = append(found, p)
		}
		if len(p.Folders) > 0 {
			all = append(all, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Project{}, WithHint(fmt.Errorf("%w: several projects are called %q", ErrUsage, name), "name one by its path: "+names(found))
	case len(all) == 0:
		return Project{}, WithHint(fmt.Errorf("%w: no project is called %q", ErrUsage, name), HowToBegin())
	}
	return Project{}, WithHint(fmt.Errorf("%w: no project is called %q", ErrUsage, name), "the projects of this user are "+names(all))
}

// names lists projects for an error.
func names(all []Project) string {
	const most = 12
	var list []string
	for _, p := range all[:min(len(all), most)] {
		list = append(list, p.Name)
	}
	text := strings.Join(list, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more; c2c list --everywhere --all shows all", more)
	}
	return text
}

func isSame(one, other string) bool {
	a, err := os.Stat(one)
	b, berr := os.Stat(other)
	return err == nil && berr == nil && os.SameFile(a, b)
}
