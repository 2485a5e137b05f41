package watch

import (
	"fmt"
	"sort"
	"strings"

	"c2c/internal/format"
	"c2c/serve/live"
	"c2c/sessions"
)

// roster is the list of sessions, with its filter and view.
type roster struct {
	all      []live.Session // all sessions; sessions that need their person come first
	sessions []live.Session // the sessions that match the filter
	filter   string
	picked   string // id of the session whose mail is shown; "": the mail of all
	listTop  int    // the first visible line
	listed   listed
}

// listed has the picked line and the height of the list, as they were when the list was last
// scrolled to the picked line.
type listed struct{ at, height int }

// order sorts and stores the sessions: first sessions that need their person, last sessions whose
// client has ended.
func (l *roster) order(all []live.Session) {
	l.all = all
	sort.SliceStable(l.all, func(i, j int) bool { return rank(l.all[i]) < rank(l.all[j]) })
	l.choose()
}

func rank(s live.Session) int {
	switch {
	case s.NeedsPerson() || s.Error != "":
		return 0
	case s.State == sessions.Absent:
		return 2
	}
	return 1
}

// choose fills the list with the sessions that have all words of the filter in their name, client,
// role or state.
func (l *roster) choose() {
	words := strings.Fields(strings.ToLower(l.filter))
	l.sessions = nil
	for _, s := range l.all {
		text := strings.ToLower(strings.Join([]string{s.Alias, s.Client, s.Role, string(s.Now.Does)}, " "))
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(text, w)
		}
		if fits {
			l.sessions = append(l.sessions, s)
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

// at returns the line of the picked session in the list; 0 if none is picked.
func (l *roster) at() int {
	for i := range l.sessions {
		if l.sessions[i].ID == l.picked {
			return i + 1
		}
	}
	return 0
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

// drawHead draws the first line of the screen.
func (a *app) drawHead(w int) {
	waiting, asks := 0, 0
	for _, s := range a.all {
		waiting += s.Count
		if s.NeedsPerson() {
			asks++
		}
	}
	a.fill(area{0, 0, w, 1}, fmt.Sprintf(" c2c watch · %s · %s waiting", format.Count(len(a.all), "session", "sessions"), format.Count(waiting, "message", "messages")), bar)
	if asks > 0 {
		text := fmt.Sprintf(" ! %d waiting for a person ", asks)
		if w < 2*width(text) {
			text = fmt.Sprintf(" ! %d ", asks)
		}
		a.put(max(0, w-width(text)), 0, w, text, signs[sessions.Waiting].style.Reverse(true))
	}
}

func (a *app) drawSessions() {
	at, lines := a.at(), len(a.sessions)+1
	if now := (listed{at, a.list.h}); now != a.listed { // scroll to the picked session once; after that the mouse may scroll away
		a.listed, a.listTop = now, max(min(a.listTop, at), at-a.list.h+1)
	}
	a.listTop = max(0, min(a.listTop, lines-a.list.h))
	title, position := "sessions", fmt.Sprint(len(a.sessions))
	if a.filter != "" {
		title = "with " + word(a.filter)
	}
	if at > 0 {
		position = fmt.Sprintf("%d of %d", at, len(a.sessions))
	}
	a.drawTitle(a.left, title, position)
	if beside := a.left.w; a.right.x > beside {
		a.drawBar(area{beside, a.list.y, 1, a.list.h}, a.listTop, lines, "│")
	}
	for y := range a.list.h {
		i := a.listTop + y
		if i >= lines {
			break
		}
		r := area{a.list.x, a.list.y + y, a.list.w, 1}
		switch {
		case i == 0:
			style := plain
			if at == 0 {
				if style = bold; a.onList {
					style = bar
				}
			}
			a.fill(r, "  everybody", style)
		default:
			a.drawSession(r, a.sessions[i-1], i == at)
		}
	}
}

func (a *app) drawSession(r area, s live.Session, picked bool) {
	right := string(s.Now.Does)
	if s.Quiet {
		right = "dnd " + right
	}
	if n := s.Count + s.Handed; n > 0 {
		right += fmt.Sprintf(" %d", n)
	}
	sign, name := signOf(s.Now.Does), a.colourOf(s.Alias)
	if s.Error != "" {
		sign.mark = "?"
	}
	if s.State == sessions.Absent {
		name = dim
	}
	if picked && a.onList {
		sign.style, name = bar, bar
	} else if picked {
		sign.style, name = sign.style.Bold(true), name.Underline(true)
	}
	room := r.w - width(right) - 4
	alias := cut(word(s.Alias), room)
	x := r.x + a.put(r.x, r.y, 2, sign.mark+" ", sign.style)
	x += a.put(x, r.y, room, alias, name)
	a.fill(area{x, r.y, r.x + r.w - x, 1}, strings.Repeat(" ", max(0, room-width(alias))+1)+right, sign.style)
}
