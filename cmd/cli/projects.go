package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/inbox"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Project is a project of this user.
type Project struct {
	project.Used
	Name string // its folder, and its remote in brackets; or what is known of it
}

// Projects returns all projects of this user. It reads a link for each folder in which c2c was
// used, so call it only for a person who looks at all projects, or to explain an error.
func Projects(getenv func(string) string) (all []Project) {
	return named(getenv, project.All(getenv))
}

func named(getenv func(string) string, used []project.Used) (all []Project) {
	for _, u := range used {
		p := Project{u, "a project whose folder is not known"}
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

// NameOf returns how a person names the project of a root.
func NameOf(getenv func(string) string, root string) string {
	for _, p := range Projects(getenv) {
		if p.Root == root {
			return p.Name
		}
	}
	return AtHome(getenv, root)
}

// AtHome returns a path with ~ for the home directory.
func AtHome(getenv func(string) string, path string) string {
	if rest, below := strings.CutPrefix(path, getenv("HOME")+"/"); below && getenv("HOME") != "" {
		return "~/" + rest
	}
	return path
}

// FindProject finds a project of this user by a path, by the name of its remote, or by the last
// part of the one or the other.
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
	used := project.All(getenv)
	called := project.Called(used, name)
	for _, p := range named(getenv, used) {
		if SameFile(p.Root, root) || root == "" && slices.ContainsFunc(called, func(u project.Used) bool { return u.Root == p.Root }) {
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
	var list []string
	for _, p := range all {
		list = append(list, p.Name)
	}
	return strings.Join(list, ", ")
}

// SameFile reports whether two paths lead to the same file or directory, which is there.
func SameFile(one, other string) bool {
	a, err := os.Stat(one)
	b, berr := os.Stat(other)
	return err == nil && berr == nil && os.SameFile(a, b)
}

// ProjectRows is a project in the list of all projects.
type ProjectRows struct {
	Name     string            `json:"project"`
	Root     string            `json:"root"`
	Here     bool              `json:"here,omitempty"` // the project of the caller
	Sessions []sessions.Listed `json:"sessions"`
}

// Everywhere lists the sessions of all projects of this user, and of the machines that are linked
// now. Sessions that need their person are first, and so are their projects. With an error it still
// returns what it could read.
func Everywhere(ctx context.Context, getenv func(string) string, cwd string, log inbox.Log) ([]ProjectRows, error) {
	own, _, _ := broker.RootFor(callers.Caller{Getenv: getenv}, cwd) // without a directory there is no own project
	projects := Projects(getenv)
	isOwn := func(p Project) bool { return p.Root == own }
	if _, err := os.Stat(own); err == nil && !slices.ContainsFunc(projects, isOwn) {
		projects = append(projects, Project{project.Used{Root: own}, AtHome(getenv, own)})
	}
	all := []ProjectRows{}
	var broken []error
	for _, p := range projects {
		rows, err := SessionsOf(ctx, getenv, p.Root, log)
		if err != nil {
			broken = append(broken, fmt.Errorf("list the sessions of %s: %w", p.Name, err))
		}
		all = append(all, ProjectRows{p.Name, p.Root, isOwn(p), append([]sessions.Listed{}, rows...)})
	}
	slices.SortStableFunc(all, func(a, b ProjectRows) int {
		return cmp.Or(a.rank()-b.rank(), cmp.Compare(a.Name, b.Name))
	})
	return all, errors.Join(broken...)
}

// SessionsOf lists the sessions of a root, and of the machines that are linked with it now: first
// those that need their person. It keeps no root open, and makes none.
func SessionsOf(ctx context.Context, getenv func(string) string, root string, log inbox.Log) ([]sessions.Listed, error) {
	b, err := broker.OpenThere(getenv, root, log)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	rows, err := b.List(ctx)
	slices.SortStableFunc(rows, func(a, b sessions.Listed) int { return rankOf(a) - rankOf(b) })
	remote, rerr := b.RemoteSessions()
	return append(rows, remote...), errors.Join(err, rerr)
}

// The places of a session among those of all projects, from the first on.
const (
	needsPerson = iota // a dialog is open, or mail waits for the person
	runs
	tellsNothing // a person or a sender outside
	hasEnded
)

func rankOf(r sessions.Listed) int {
	switch {
	case r.NeedsPerson():
		return needsPerson
	case r.State == sessions.Person, r.State == sessions.External:
		return tellsNothing
	case r.State == sessions.Absent:
		return hasEnded
	}
	return runs
}

// rank is that of the project's first session; the caller's own project comes before its like.
func (p ProjectRows) rank() int {
	least := hasEnded
	for _, r := range p.Sessions {
		least = min(least, rankOf(r))
	}
	if p.Here {
		return 2 * least
	}
	return 2*least + 1
}

// Counts returns how many sessions of the project run, how many need their person, and how many
// messages wait.
func (p ProjectRows) Counts() (running, needing, mails int) {
	for _, r := range p.Sessions {
		switch rankOf(r) {
		case needsPerson:
			needing++
		case runs:
			running++
		}
		mails += r.Count
	}
	return running, needing, mails
}

// IsQuiet reports whether nothing of the project runs or needs its person.
func (p ProjectRows) IsQuiet() bool { return p.rank() >= 2*tellsNothing }
