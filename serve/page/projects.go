package page

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"c2c/serve/live"
	"c2c/sessions"
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
	for _, one := range p.all() {
		if one.Root != g.Root {
			all = append(all, one)
		}
	}
	return all
}

// projectOf returns the project that a request is about. ok is false if the login may show none
// with its name. It lists the folders only for a name that is new: a folder may be on a disk that
// does not answer.
func (p *Page) projectOf(r *http.Request, g grant) (one Project, ok bool) {
	id, first := r.Header.Get(projectHeader), Project{g.Root, g.Dir}
	if id == "" || id == first.id() {
		return first, true
	}
	if known, ok := p.known.Load(id); ok {
		return known.(Project), true
	}
	for _, one := range p.projects(g) {
		if one.id() == id {
			p.known.Store(id, one)
			return one, true
		}
	}
	return Project{}, false
}

// projectView is a project as the page shows it.
type projectView struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Dir      string    `json:"dir,omitempty"`
	Sessions []session `json:"sessions,omitempty"` // those that have not ended; first those that need their person
	Needs    int       `json:"needs,omitempty"`    // how many of them do, or have mail for the person
	Error    string    `json:"error,omitempty"`    // why they are not known
}

// listProjects returns the projects to which the page can switch, by name. If the URL has the
// parameter sessions, it also returns what runs there; then the projects that need the person come
// first.
func (p *Page) listProjects(c *call) (any, error) {
	_, g, _ := p.find(c.r)
	views := []projectView{}
	for _, one := range p.projects(g) {
		v := projectView{ID: one.id(), Name: visible(one.name()), Dir: visible(one.Dir)}
		if c.r.URL.Query().Has("sessions") {
			p.addSessions(c, &v, one.Root)
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b projectView) int {
		return cmp.Or(cmp.Compare(b.Needs, a.Needs), cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Dir, b.Dir))
	})
	return map[string]any{"projects": views}, nil
}

func (p *Page) addSessions(ctx context.Context, v *projectView, root string) {
	rows, err := p.list(ctx, root)
	if err != nil {
		v.Error = visible(err.Error())
	}
	for _, row := range rows {
		if row.State == sessions.Absent || row.State == sessions.Person && !row.NeedsPerson() {
			continue
		}
		if v.Sessions = append(v.Sessions, sessionOf(live.Session{Listed: row})); row.NeedsPerson() {
			v.Needs++
		}
	}
}
