package watch

import (
	"context"
	"slices"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
)

// These values of binding.key stand for keys that print no character.
const (
	tab   = '\t'
	enter = '\r'
	esc   = '\x1b'
)

// binding is a key with its action.
type binding struct {
	key  rune
	says string
	do   func()
}

// help returns the keys that do something now, the most useful first, because a narrow screen shows
// only the first keys.
func (a *app) help() []binding {
	switch {
	case a.box != nil && len(a.hidden) > 0:
		return []binding{{enter, "more", func() { a.box = a.hidden }}, {esc, "back", a.back}}
	case a.box != nil:
		return []binding{{esc, "back", a.back}}
	case a.typing != nil && a.typing.one:
		return []binding{{enter, a.typing.title, a.finish}, {esc, "leave", a.back}}
	case a.typing != nil:
		return []binding{{enter, "send", a.finish}, {esc, "leave", a.back}, {'^', "new line", a.typing.newLine}}
	}
	keys := []binding{
		{'q', "quit", func() { a.quit = true }}, {'c', "compose", a.compose}, {'r', "reply", a.reply}, {'?', "help", func() { a.box = helpText }},
		{enter, "thread", a.thread}, {'w', "why", a.why}, {'/', "search", a.search}, {'f', "filter", a.filterList}, {tab, "other side", func() { a.onList = !a.onList }},
		{'d', "dnd", a.toggleQuiet}, {'m', "mark my mail read", a.takeMine},
	}
	if a.onList {
		does := map[bool]string{true: "go there", false: "mail"}[a.at() > 0]
		keys[slices.IndexFunc(keys, func(k binding) bool { return k.key == enter })] = binding{enter, does, a.enter}
	}
	for i, name := range views {
		key := binding{rune('1' + i), name, func() { a.see(i) }}
		keys = slices.Insert(keys, min(4+i, len(keys)), key)
	}
	if a.found != nil {
		keys = slices.Insert(keys, 1, binding{esc, "back", a.back})
	}
	return keys
}

// helpText is the text of the key ?.
var helpText = []string{
	"Tab        the sessions, or the messages",
	"Up, Down   the next one; also j and k, Page Up, Page Down; Home and End, in a thread its first and last line",
	"Enter      on a session: go to its terminal, if that is a pane of tmux; on a project: show that; on a message: its thread",
	"1, 2, 3    the mail; who waits for whom; how far each message has come",
	"c          write to the session, or to the sender of the message, or to a name that you type",
	"r          answer the message",
	"w          why the message was not read yet",
	"/          search in all mail that is kept",
	"f          show only sessions that have your words in their name, client, role or state",
	"d          do not disturb: mail wakes the session, or does not",
	"m          mark my own mail as read, as far as the screen has shown it",
	"Esc        back",
	"q          leave",
	"",
	"The mouse picks, scrolls, and presses the keys of the last line. Nothing is taken or marked because you look at it.",
}

// back closes the view that is in front.
func (a *app) back() {
	switch {
	case a.box != nil:
		a.box = nil
	case a.typing != nil:
		e := a.typing
		if !e.one {
			a.drafts[e.title] = e.text
		}
		if a.typing = nil; e.left != nil {
			e.left()
		}
	case a.found != nil:
		a.found = nil
	case a.flow.selected != nil:
		a.flow.selected = nil
	case a.picked != "":
		a.picked = ""
	default:
		a.setFilter("")
	}
}

func (a *app) event(e tcell.Event, pasting bool) {
	switch e := e.(type) {
	case *tcell.EventResize:
		a.screen.Sync()
	case *tcell.EventMouse:
		a.mouse(e)
	case *tcell.EventKey:
		if a.typing == nil { // while the person types, keep the result of the last action
			a.says = ""
		}
		if e.Key() == tcell.KeyCtrlC && !pasting {
			a.quit = true
			return
		}
		if t := a.typing; a.box == nil && t != nil && t.key(e, pasting) {
			if t.changed != nil {
				t.changed(string(t.text))
			}
			return
		}
		if pasting {
			return
		}
		a.key(e)
	}
}

func (a *app) key(e *tcell.EventKey) {
	key := e.Rune()
	switch e.Key() {
	case tcell.KeyEscape:
		a.back()
		return
	case tcell.KeyEnter:
		key = enter
	case tcell.KeyTab, tcell.KeyBacktab:
		key = tab
	case tcell.KeyUp:
		key = 'k'
	case tcell.KeyDown:
		key = 'j'
	case tcell.KeyRune:
	default:
		key = 0
	}
	switch {
	case a.box != nil:
		a.box = a.hidden // show the next part; after the last part this is nil, and the box closes
	case a.typing != nil || !a.move(e.Key(), key):
		a.press(key)
	}
}

// press runs the action that a key has now.
func (a *app) press(key rune) {
	for _, k := range a.help() {
		if k.key == key {
			k.do()
			return
		}
	}
}

// move is for the keys that select another session or message. It returns false if the key is none
// of them.
func (a *app) move(k tcell.Key, r rune) bool {
	page := max(1, a.right.h-2)
	n := map[rune]int{'k': -1, 'j': 1}[r]
	switch k {
	case tcell.KeyPgUp, tcell.KeyPgDn:
		if n = page; k == tcell.KeyPgUp {
			n = -page
		}
		if !a.onList {
			a.pane().scroll(a.shown, n, max(1, a.right.h-1))
			return true
		}
	case tcell.KeyHome:
		n = -1 << 20
	case tcell.KeyEnd:
		n = 1 << 20
	}
	if p := a.pane(); !a.onList && p.whole && (k == tcell.KeyHome || k == tcell.KeyEnd) {
		p.toEnd(n)
		return true
	}
	if n == 0 {
		return false
	}
	if a.onList {
		a.pick(min(max(0, a.at()+n), len(a.lines)-1))
		return true
	}
	p := a.pane()
	at := slices.Index(p.mails, p.message())
	p.selectAt(at + n)
	return true
}

// pick shows the mail of the session at line i of the list; a line without a session means all.
func (a *app) pick(i int) {
	a.picked = ""
	if i > 0 {
		a.picked = a.lines[i].id
	}
	a.found, a.flow.selected = nil, nil
}

// enter acts on the picked line of the list: it goes to the terminal of a session, shows what is
// folded, or shows another project.
func (a *app) enter() {
	if len(a.lines) == 0 {
		return
	}
	switch e := a.lines[a.at()]; {
	case e.session != nil:
		a.goThere(e.session.Listed)
	case e.project != nil:
		a.says = "opening " + e.project.Name
		a.job(func(context.Context, *broker.Broker) (string, func(), error) {
			return "", nil, a.goTo(a.ctx, e.project.Root, "")
		})
	case e.id == foldLine:
		a.unfold = !a.unfold
		a.choose()
	default:
		a.onList = false
	}
}

// selectAt selects the message at index i of p.mails. In the flow, the last message is selected by
// clearing the selection: then the view follows new mail.
func (p *pane) selectAt(i int) {
	switch {
	case len(p.mails) == 0 || i >= len(p.mails)-1 && !p.whole:
		p.selected = nil
	default:
		p.selected = p.mails[min(max(0, i), len(p.mails)-1)]
	}
}

// scroll moves the view by n lines. The view shows height lines. Then scroll selects the first
// message that begins in the view, or the message that fills the view.
func (p *pane) scroll(lines []line, n, height int) {
	last := max(0, len(lines)-height)
	top := max(0, min(p.top+n, last))
	if len(lines) == 0 || top == last && !p.whole {
		p.selected = nil
		return
	}
	p.top, p.selected = top, lines[top].mailView
	for _, l := range lines[top:min(top+height, len(lines))] {
		if l.n == 0 {
			p.selected = l.mailView
			break
		}
	}
	p.shown.selected = p.selected // otherwise the next draw would scroll to the selection
}

// toEnd moves the view of a pane with whole bodies: to its last line if n is positive, otherwise to
// its first line.
func (p *pane) toEnd(n int) {
	if len(p.mails) == 0 {
		return
	}
	p.selected = p.mails[0]
	if n > 0 {
		p.selected = p.mails[len(p.mails)-1]
	}
	p.top, p.shown.selected = n, p.selected // the method show keeps top within the lines
}

func (a *app) mouse(e *tcell.EventMouse) {
	x, y := e.Position()
	if a.typing == nil && e.Buttons() != tcell.ButtonNone {
		a.says = ""
	}
	switch e.Buttons() {
	case tcell.WheelUp, tcell.WheelDown:
		n := 3
		if e.Buttons() == tcell.WheelUp {
			n = -3
		}
		switch {
		case a.box != nil:
		case a.list.has(x, y):
			a.listTop += n
		case a.right.has(x, y):
			a.pane().scroll(a.shown, n, max(1, a.right.h-1))
		}
	case tcell.Button1:
		a.click(x, y)
	}
}

func (a *app) click(x, y int) {
	for _, k := range a.keys {
		if k.has(x, y) {
			a.press(k.key)
			return
		}
	}
	switch {
	case a.box != nil:
		a.box = a.hidden // show the next part; after the last part this is nil, and the box closes
	case a.typing != nil:
	case a.list.has(x, y):
		if i := a.listTop + y - a.list.y; i < len(a.lines) {
			again := a.onList && a.at() == i
			a.onList = true
			if a.pick(i); again {
				a.enter()
			}
		}
	case a.right.has(x, y) && y > a.right.y:
		p := a.pane()
		if i := p.top + y - a.right.y - 1; i < len(a.shown) {
			again := !a.onList && p.message() == a.shown[i].mailView
			a.onList = false
			p.selectAt(slices.Index(p.mails, a.shown[i].mailView))
			if again {
				a.thread()
			}
		}
	}
}
