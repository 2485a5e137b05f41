package install

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"c2c/install/confedit"
	"c2c/internal/format"
	"c2c/internal/proc"
)

// hookTimeout is the client's time limit for a hook, in seconds. The script stops itself after 5;
// this limit is for a script that hangs.
const hookTimeout = 10

// hookEditor puts one command under several events in the object "hooks" of a file. The format is
// that of Claude Code's settings.json and of Codex's hooks.json:
//
//	{"hooks": {EVENT: [{"matcher": M, "hooks": [{"type": "command", …}]}]}}
type hookEditor struct {
	command string
	name    string // what the client shows while the hook runs, if it can
	milli   bool   // the client wants the time limit in milliseconds
	flat    bool   // the commands are directly below the event, without groups
	events  []hookEvent
	ours    func(command string) bool
}

type hookEvent struct {
	name    string
	matcher string   // the tools at which the hook runs; "": the entry has no matcher
	legacy  []string // matchers of the OCaml c2c, to be replaced
	args    string   // text to append to the command
	rewake  bool     // the hook runs in the background, and wakes the session by exit status 2
	loops   int      // how often the hook may make a turn go on; 0: the client has no such limit
}

type hookGroup struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Name    string `json:"name,omitempty"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
	Rewake  bool   `json:"asyncRewake,omitempty"`
}

type flatHook struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Loops   int    `json:"loop_limit,omitempty"`
}

const hooksKey = "hooks"

// at returns events that have these names, and no options.
func at(names ...string) (events []hookEvent) {
	for _, name := range names {
		events = append(events, hookEvent{name: name})
	}
	return events
}

// commandHooks returns an editor for a client that runs `c2c hook` itself at each event.
func commandHooks(client string, o Options, events []hookEvent) hookEditor {
	args := " hook --client " + client
	command := shellQuote(o.Binary) + args
	return hookEditor{command: command, events: events, ours: func(c string) bool {
		c = strings.TrimSuffix(c, editArg)
		return c == command || strings.HasSuffix(c, args) && filepath.Base(firstWord(c)) == "c2c"
	}}
}

// editArg tells the command `c2c hook` that the event comes before a tool call that may change a
// file.
const editArg = " --edit"

// beforeEdit returns an event that comes before the calls of some tools.
func beforeEdit(name, tools string) hookEvent {
	return hookEvent{name: name, matcher: tools, args: editArg}
}

// entry returns the JSON value for an event: a group with our command, or the command alone.
func (e hookEditor) entry(event hookEvent) any {
	if e.flat {
		return flatHook{e.command + event.args, hookTimeout, event.loops}
	}
	timeout := hookTimeout
	if e.milli {
		timeout *= 1000
	}
	return hookGroup{event.matcher, []hookCommand{{"command", e.name, e.command + event.args, timeout, event.rewake}}}
}

func (e hookEditor) add(path string, data []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, e.addAll)
}

func (e hookEditor) addAll(d *confedit.JSON) error {
	for _, event := range e.events {
		if err := e.addTo(d, event); err != nil {
			return err
		}
	}
	return nil
}

// addTo makes sure that event has our command exactly once. In an existing entry it updates only
// the command, because people may have changed the matcher and the time limit.
func (e hookEditor) addTo(d *confedit.JSON, event hookEvent) error {
	groups, err := d.Array(hooksKey, event.name)
	if err != nil {
		return err
	}
	if groups == nil {
		return d.Put([]any{e.entry(event)}, hooksKey, event.name)
	}
	refs := e.entries(groups)
	keep := slices.IndexFunc(refs, func(r entryRef) bool { return !r.legacy(event) })
	for i, ref := range slices.Backward(refs) { // backwards, because a removal does not move the entries before the removed one
		if i != keep {
			ref.remove(d)
		} else if err := d.Replace(ref.command, e.command+event.args); err != nil {
			return err
		}
	}
	if keep >= 0 {
		return nil
	}
	return d.Insert(groups, "", e.entry(event))
}

func (e hookEditor) strip(path string, data, original []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error { return e.stripAll(d, original) })
}

func (e hookEditor) stripAll(d *confedit.JSON, original []byte) error {
	for _, event := range e.events {
		groups, err := d.Array(hooksKey, event.name)
		if err != nil {
			return err
		}
		refs := e.entries(groups)
		for _, ref := range slices.Backward(refs) {
			ref.remove(d)
		}
		if len(refs) > 0 {
			d.RemoveEmpty(original, hooksKey, event.name)
		}
	}
	return nil
}

func (hookEditor) kind() string { return "hooks" }

func (e hookEditor) find(f *File) (part, error) {
	if _, err := confedit.ParseJSON(f.Path, f.Data); err != nil {
		return part{}, err
	}
	return e.partOf(func(event hookEvent) (found []hookFound) {
		for _, ref := range e.entries(confedit.Member(f.Data, hooksKey, event.name)) {
			found = append(found, hookFound{confedit.Text(ref.command), ref.legacy(event)})
		}
		return found
	}), nil
}

// allowingHooks edits our hooks, and a part by which the client lets its model call our tools
// without asking.
type allowingHooks struct {
	hookEditor
	allow editor
	ask   bool // the client must ask the person, so the method add removes that part
}

// add adds the part only together with the first of our hooks. If our hooks are there already and
// the part is not, a person has removed it and wants to be asked.
func (e allowingHooks) add(path string, data []byte) ([]byte, error) {
	after, err := e.hookEditor.add(path, data)
	switch {
	case err != nil:
		return nil, err
	case e.ask:
		return e.allow.strip(path, after, nil)
	case hasOurs(e.hookEditor, data) && !hasOurs(e.allow, data):
		return after, nil
	}
	return e.allow.add(path, after)
}

// strip keeps the part if the original content of the file is not known and our hooks are not there:
// then it is perhaps the person's.
func (e allowingHooks) strip(path string, data, original []byte) (_ []byte, err error) {
	if original != nil || hasOurs(e.hookEditor, data) {
		if data, err = e.allow.strip(path, data, original); err != nil {
			return nil, err
		}
	}
	return e.hookEditor.strip(path, data, original)
}

// A hookFound is an entry of ours at an event. legacy means that the OCaml c2c wrote the entry.
type hookFound struct {
	command string
	legacy  bool
}

// partOf makes a part from our entries at each event.
func (e hookEditor) partOf(entries func(hookEvent) []hookFound) (p part) {
	all := make([][]hookFound, len(e.events))
	for i, event := range e.events {
		all[i] = entries(event)
		p.there = p.there || len(all[i]) > 0
		p.ours = p.ours || slices.ContainsFunc(all[i], func(entry hookFound) bool { return !entry.legacy })
	}
	p.report = func(t target, o Options) []format.Finding { return e.report(all, t, o) }
	return p
}

// report makes one finding for all events with a right entry, followed by one finding for each
// event with a wrong entry. entries holds our entries by event.
func (e hookEditor) report(entries [][]hookFound, t target, o Options) (found []format.Finding) {
	var good []string
	command := "" // the command of the first entry of ours
	for i, event := range e.events {
		wrong := "no entry"
		for k, entry := range entries[i] {
			command = cmp.Or(command, entry.command) // the first event has the plain command: those of other events may have one more word
			_, err := proc.LookPath(firstWord(hookLine(entry.command)), o.Getenv)
			switch wrong = ""; {
			case k > 0:
				wrong = "there is more than one entry, so c2c looks for mail twice"
			case entry.legacy:
				wrong = "the entry belongs to another c2c"
			case err != nil:
				wrong = err.Error()
			}
		}
		if wrong == "" {
			good = append(good, event.name)
		} else {
			found = append(found, t.broken("hook "+event.name, wrong))
		}
	}
	if good != nil {
		found = slices.Insert(found, 0, t.good("hook "+strings.Join(good, ", "), hookLine(command)))
	}
	return found
}

// An entryRef is a hook entry with our command. It is an element of the array "hooks" of a group;
// in the flat form, of the event's array.
type entryRef struct {
	groups, group, hooks, entry *hujson.Value
	command                     *hujson.Value
	matcher                     string
	place                       string // "GROUP:ENTRY", counted from 0
}

// entries finds our commands among groups, which may be nil. It skips entries of another form,
// which cannot be ours.
func (e hookEditor) entries(groups *hujson.Value) (refs []entryRef) {
	for g, group := range confedit.Elements(groups) {
		hooks := group.Find("/hooks")
		entries := confedit.Elements(hooks)
		if e.flat {
			hooks, entries = nil, []*hujson.Value{group}
		}
		for i, entry := range entries {
			if command := entry.Find("/command"); e.ours(confedit.Text(command)) {
				refs = append(refs, entryRef{groups, group, hooks, entry, command, confedit.Text(group.Find("/matcher")), fmt.Sprintf("%d:%d", g, i)})
			}
		}
	}
	return refs
}

func (r entryRef) legacy(event hookEvent) bool { return slices.Contains(event.legacy, r.matcher) }

// remove removes the entry. If the entry is the only one of its group, remove removes the whole
// group.
func (r entryRef) remove(d *confedit.JSON) {
	if len(confedit.Elements(r.hooks)) > 1 {
		d.Remove(r.hooks, r.entry)
	} else {
		d.Remove(r.groups, r.group)
	}
}
