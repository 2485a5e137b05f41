package watch

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"c2c/internal/format"
	"c2c/serve/live"
	"c2c/sessions"
)

// Project is a project of this user, as the list shows it.
type Project struct {
	Name, Root             string
	Sessions, Needs, Mails int // sessions that have not ended; those that need their person; messages that wait
}

// Around is what the screen shows besides the sessions and the mail of its root. It is read from
// time to time, because nothing reports its changes.
type Around struct {
	Projects []Project // all, those that need their person first
	Machines int       // the machines that are linked now
	Remote   []sessions.Listed
	Rooms    map[string][]string // the rooms of each session, by its id
}

// roster is the list of sessions, with its filter and view. Behind the sessions it has the other
// projects.
type roster struct {
	around      Around
	root        string         // the root that is shown
	name        string         // how a person names its project
	own         []live.Session // the sessions of the root
	all         []live.Session // these and those of other machines; sessions that need their person come first
	lines       []entry        // the lines of the list, for the filter
	folded      int            // how many sessions stand behind the fold
	foldedMails int            // the messages that wait for them
	unfold      bool           // show all of them
	filter      string
	picked      string // the id of the picked line: that of the session whose mail is shown; "": the mail of all
	listTop     int    // the first visible line
	listed      listed
}

// entry is a line of the list. Session ids are names of files, so no id begins with a slash.
type entry struct {
	id      string // of a session; "": everybody; foldLine; /<root>
	session *live.Session
	project *Project
}

// foldLine is the id of the line that stands for the folded sessions.
const foldLine = "/"

// listed has the picked line and the height of the list, as they were when the list was last
// scrolled to the picked line.
type listed struct{ at, height int }

// order sorts and stores the sessions of the root: first sessions that need their person, last
// sessions whose client has ended.
func (l *roster) order(own []live.Session) {
	l.own, l.all = own, slices.Clone(own)
	for _, r := range l.around.Remote {
		l.all = append(l.all, live.Session{Listed: r})
		l.all[len(l.all)-1].ID = "@" + r.Alias
	}
	sort.SliceStable(l.all, func(i, j int) bool { return rank(l.all[i]) < rank(l.all[j]) })
	l.choose()
}

func rank(s live.Session) int {
	switch {
	case s.NeedsPerson(), s.Error != "":
		return 0
	case folds(s):
		return 2
	}
	return 1
}

// folds reports whether a session stands behind the fold: it has ended, or nothing tells whether it
// runs.
func folds(s live.Session) bool {
	return s.State == sessions.Absent || s.Now.Does == sessions.Unknown
}

// choose makes the lines: the sessions that have all words of the filter in their name, client,
// role or state; without a filter, those that are not folded, and the other projects.
func (l *roster) choose() {
	words := strings.Fields(strings.ToLower(l.filter))
	l.foldedMails = 0
	var found, behind []entry
	runs := false // a session that is not behind the fold
	for i := range l.all {
		s := &l.all[i]
		text := strings.ToLower(strings.Join([]string{s.Alias, s.Client, s.Role, string(s.Now.Does)}, " "))
		switch {
		case slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }):
		case folds(*s) && l.filter == "":
			behind = append(behind, entry{id: s.ID, session: s})
			l.foldedMails += s.Count
		default:
			found = append(found, entry{id: s.ID, session: s})
			runs = runs || s.PID != 0 || s.State == sessions.Alive
		}
	}
	l.lines, l.folded = append([]entry{{}}, found...), len(behind)
	switch {
	case l.filter != "":
		return
	case !runs:
		l.lines, l.folded = append(l.lines, behind...), 0
	case len(behind) > 0:
		l.lines = append(l.lines, entry{id: foldLine})
		if l.unfold {
			l.lines = append(l.lines, behind...)
		}
	}
	for i := range l.around.Projects {
		if p := &l.around.Projects[i]; p.Root != l.root {
			l.lines = append(l.lines, entry{id: "/" + p.Root, project: p})
		}
	}
}

// filterList opens the editor for the filter, and applies the filter after each key.
func (a *app) filterList() {
	a.onList = true
	a.typing = &editor{title: "show sessions with", one: true, text: []rune(a.filter), at: len([]rune(a.filter)), done: a.setFilter, changed: a.setFilter, left: func() { a.setFilter("") }}
}

func (l *roster) setFilter(text string) {
	l.filter = text
	l.choose()
}

// at returns the picked line of the list; 0 if none is picked.
func (l *roster) at() int {
	return max(0, slices.IndexFunc(l.lines, func(e entry) bool { return e.id == l.picked }))
}

// session returns the picked session, or nil.
func (l *roster) session() *live.Session {
	for i := range l.all {
		if l.all[i].ID == l.picked {
			return &l.all[i]
		}
	}
	return nil
}

// drawHead draws the first line of the screen: what is shown, the views, and what needs the person.
func (a *app) drawHead(w int) {
	waits, asks, elsewhere := 0, 0, 0
	for _, s := range a.all {
		waits += s.Count
		if s.AtDialog() {
			asks++
		}
	}
	for _, p := range a.around.Projects {
		if p.Root != a.root {
			elsewhere += p.Needs
		}
	}
	a.fill(area{0, 0, w, 1}, "", bar)
	right := w
	if asks+elsewhere > 0 {
		text := " ! " + format.Count(asks+elsewhere, "needs you ", "need you ")
		if elsewhere > 0 {
			text += fmt.Sprintf("(%d elsewhere) ", elsewhere)
		}
		right -= width(text)
		a.put(max(0, right), 0, w, text, signs[sessions.Waiting].style.Reverse(true))
	}
	name := cmp.Or(a.name, "c2c watch")
	if w < 100 {
		name, _, _ = strings.Cut(name, " (") // without the remote
	}
	text := " " + cut(word(name), max(16, w/3)) + " · " + format.Count(len(a.all), "session", "sessions") + " · " + format.Count(waits, "message", "messages") + " waiting"
	if n := a.around.Machines; n > 0 {
		text += " · " + format.Count(n, "machine", "machines")
	}
	a.put(0, 0, right-1, text, bar)
}

// column is a column of the list. A column for which not even leastCell is left is left out.
type column struct {
	head string
	most int // its greatest width
	cell func(a *app, s *live.Session) string
}

const leastCell = 8

var columns = []column{
	{"NOW", 12, func(_ *app, s *live.Session) string {
		if s.Quiet {
			return "dnd " + string(s.Now.Does)
		}
		return string(s.Now.Does)
	}},
	{"MAIL", 6, func(_ *app, s *live.Session) string {
		switch n := s.Count + s.Handed; {
		case s.Error != "":
			return "broken"
		case n > 0:
			return fmt.Sprint(n)
		}
		return ""
	}},
	{"FOR", 8, func(_ *app, s *live.Session) string { return since(s.Now.Since) }},
	{"CLIENT", 9, func(_ *app, s *live.Session) string { return s.Client }},
	{"OLDEST", 8, func(_ *app, s *live.Session) string {
		if s.Count == 0 {
			return ""
		}
		return since(s.Oldest)
	}},
	{"ROLE", 40, func(_ *app, s *live.Session) string { return s.Role }},
	{"ROOMS", 24, func(a *app, s *live.Session) string {
		if names := a.around.Rooms[s.ID]; len(names) > 0 {
			return "#" + strings.Join(names, " #")
		}
		return ""
	}},
	{"CLAIMS", 48, func(_ *app, s *live.Session) string { return strings.Join(s.Claims, " ") }},
}

// since says how long ago a time is; "" if it is not known.
func since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return format.Age(time.Since(at))
}

// table is the list as it is drawn: for each column its width, 0 if it is left out, and the cells.
type table struct {
	alias  int
	widths []int
	cells  map[string][]string // by the id of the line
}

// layOut lays out the list in the given width, and returns how much of the width it takes.
func (a *app) layOut(room int) (t table, used int) {
	t = table{len("00 sessions") - 1, make([]int, len(columns)), map[string][]string{}}
	for _, e := range a.lines {
		if e.session == nil {
			continue
		}
		t.alias = max(t.alias, min(24, width(word(e.session.Alias))))
		for i, c := range columns {
			text := word(c.cell(a, e.session))
			t.cells[e.id] = append(t.cells[e.id], text)
			if text != "" {
				t.widths[i] = max(t.widths[i], min(c.most, width(text)), len(c.head))
			}
		}
	}
	used = 2 + t.alias
	if most := room - 2 - min(t.widths[0], 9) - 1; t.alias > most {
		t.alias, used = max(4, most), 2+max(4, most)
	}
	for i := range columns {
		if left := room - used - 1; left < min(t.widths[i], leastCell) {
			t.widths[i] = 0
		} else if t.widths[i] > 0 {
			t.widths[i] = min(t.widths[i], left)
			used += 1 + t.widths[i]
		}
	}
	return t, used
}

func (a *app) drawSessions() {
	at, lines := a.at(), len(a.lines)
	if now := (listed{at, a.list.h}); now != a.listed { // scroll to the picked session once; after that the mouse may scroll away
		a.listed, a.listTop = now, max(min(a.listTop, at), at-a.list.h+1)
	}
	a.listTop = max(0, min(a.listTop, lines-a.list.h))
	t, _ := a.layOut(a.left.w - 1) // a column stays free before the next area
	shown := len(a.all) - a.folded
	if a.filter != "" {
		shown = lines - 1
	}
	title := format.Count(shown, "session", "sessions")
	switch {
	case at > 0:
		title = fmt.Sprintf("%d of %d", at, lines-1)
	case width(title) > t.alias+1:
		title = fmt.Sprint(shown)
	}
	if a.filter != "" {
		title += " with " + word(a.filter)
	}
	a.fill(area{a.left.x, a.left.y, a.left.w, 1}, " "+title, plain.Underline(true))
	if a.filter == "" {
		a.drawCells(a.left.x+2+t.alias, a.left.y, t, func(i int) (string, tcell.Style) { return columns[i].head, dim.Underline(true) })
	}
	if beside := a.left.w; a.right.x > beside {
		a.drawBar(area{beside, a.list.y, 1, a.list.h}, a.listTop, lines, "│")
	}
	for y := range a.list.h {
		i := a.listTop + y
		if i >= lines {
			break
		}
		r := area{a.list.x, a.list.y + y, a.list.w, 1}
		picked := i == at
		style := plain
		if picked {
			if style = bold; a.onList {
				style = bar
			}
		}
		switch e := a.lines[i]; {
		case e.session != nil:
			a.drawSession(r, e, t, picked)
		case e.project != nil:
			a.drawProject(r, *e.project, style)
		case e.id == foldLine:
			text := fmt.Sprintf("▸ %d ended or unknown", a.folded)
			if a.foldedMails > 0 {
				text += fmt.Sprintf(", %d mail", a.foldedMails)
			}
			a.fill(r, text, cmp.Or(style, dim))
		default:
			a.fill(r, "  everybody", style)
		}
	}
}

// drawCells draws the cells of a line that stand behind the alias.
func (a *app) drawCells(x, y int, t table, cell func(i int) (string, tcell.Style)) {
	for i, w := range t.widths {
		if w > 0 {
			text, style := cell(i)
			a.fill(area{x, y, 1 + w, 1}, " "+cut(text, w), style)
			x += 1 + w
		}
	}
}

func (a *app) drawSession(r area, e entry, t table, picked bool) {
	s := e.session
	sign, name, rest := signOf(s.Now.Does), a.colourOf(s.Alias), plain
	if s.Error != "" {
		sign.mark = "?"
	}
	if s.State == sessions.Absent {
		name, rest = dim, dim
	}
	if picked && a.onList {
		sign.style, name, rest = bar, bar, bar
		a.fill(r, "", bar)
	} else if picked {
		sign.style, name = sign.style.Bold(true), name.Underline(true)
	}
	a.put(r.x, r.y, 2, sign.mark+" ", sign.style)
	a.put(r.x+2, r.y, t.alias, cut(word(s.Alias), t.alias), name)
	a.drawCells(r.x+2+t.alias, r.y, t, func(i int) (string, tcell.Style) {
		if columns[i].head == "NOW" {
			return t.cells[e.id][i], sign.style
		}
		return t.cells[e.id][i], rest
	})
}

// drawProject draws another project as one line.
func (a *app) drawProject(r area, p Project, style tcell.Style) {
	right := format.Count(p.Sessions, "session", "sessions")
	if p.Mails > 0 {
		right = fmt.Sprint(p.Mails, " mail")
	}
	mark := "▸ "
	if p.Needs > 0 {
		mark = "! "
		style = cmp.Or(style, signs[sessions.Waiting].style)
	}
	room := r.w - width(right) - 3
	name := cut(word(p.Name), room)
	a.fill(r, mark+name+strings.Repeat(" ", max(0, room-width(name))+1)+right, style)
}
