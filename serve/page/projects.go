package page

import (
	"cmp"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// projectHeader names the project that a request is about, by Project.id. Without it, a request is
// about the project in which the link of the login was made.
const projectHeader = "X-C2C-Page"

// Project is a root of the person, and its folder.
type Project struct {
	Root string
	Dir  string // "": the root belongs to no folder
}

// id returns a name of the project for the address of the page, which tells no path.
func (p Project) id() string { return hash(p.Root)[:12] }

// name is how people call the project.
func (p Project) name() string {
	if p.Dir == "" {
		return "no project"
	}
	return filepath.Base(p.Dir)
}

// projects returns the projects that a login may show: first the one of its link.
func (p *Page) projects(g grant) []Project {
	all := []Project{{g.Root, g.Dir}}
	if p.all == nil {
		return all
	}
	for _, one := range p.all() {
		if one.Root != g.Root {
			all = append(all, one)
		} else if one.Dir != "" {
			all[0].Dir = one.Dir // the link may have been made in a folder below
		}
	}
	return all
}

// projectOf returns the project that a request is about; nil if the login may show none with its
// name.
func (p *Page) projectOf(r *http.Request, g grant) *Project {
	id, all := r.Header.Get(projectHeader), p.projects(g)
	i := slices.IndexFunc(all, func(one Project) bool { return id == "" || one.id() == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// projectView is a project as the page shows it.
type projectView struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Dir  string `json:"dir,omitempty"`
}

// listProjects returns the projects to which the page can switch, by name.
func (p *Page) listProjects(c *call) (any, error) {
	_, g, _ := p.find(c.r)
	views := []projectView{}
	for _, one := range p.projects(g) {
		views = append(views, projectView{one.id(), visible(one.name()), visible(one.Dir)})
	}
	slices.SortFunc(views, func(a, b projectView) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Dir, b.Dir))
	})
	return map[string]any{"projects": views}, nil
}
