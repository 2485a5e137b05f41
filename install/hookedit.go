package install

import (
	"slices"

	"github.com/tailscale/hujson"
)

// hookEditor puts one command under several events of a hooks object, the
// format that Claude Code's settings.json and Codex's hooks.json share:
//
//	{"hooks": {EVENT: [{"matcher": M, "hooks": [{"type": "command", …}]}]}}
type hookEditor struct {
	command string
	events  []hookEvent
	ours    func(command string) bool
}

type hookEvent struct {
	name    string
	matcher string   // "" leaves it out
	legacy  []string // matchers of the original c2c, to be replaced
	args    string   // what follows the command
	rewake  bool     // runs beside the session, which status 2 wakes
}

type hookGroup struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
	Rewake  bool   `json:"asyncRewake,omitempty"`
}

func (e hookEditor) group(event hookEvent) hookGroup {
	return hookGroup{event.matcher, []hookCommand{{"command", e.command + event.args, hookTimeout, event.rewake}}}
}

func (e hookEditor) add(path string, data []byte) ([]byte, error) {
	d, err := parseJSON(path, data)
	if err != nil {
		return nil, err
	}
	hooks, err := d.object(d.top(), "hooks")
	if err != nil {
		return nil, err
	}
	if hooks.at == nil {
		if err := d.append(d.top(), "hooks", struct{}{}); err != nil {
			return nil, err
		}
		if hooks, err = d.object(d.top(), "hooks"); err != nil {
			return nil, err
		}
	}
	for _, event := range e.events {
		groups, err := d.array(hooks, event.name)
		if err != nil {
			return nil, err
		}
		if groups.at == nil {
			err = d.append(hooks, event.name, []hookGroup{e.group(event)})
		} else {
			err = e.addTo(d, groups, event)
		}
		if err != nil {
			return nil, err
		}
	}
	return result(d, data), nil
}

// addTo makes sure that groups has our command exactly once. Ours that is
// there keeps its matcher and time limit, which people may have tuned; only
// the command follows the program.
func (e hookEditor) addTo(d *jsonDoc, groups node[hujson.Array], event hookEvent) error {
	found := false
	var doomed []entryRef
	for ref := range e.entries(groups.at) {
		legacy := slices.Contains(event.legacy, ref.matcher())
		switch {
		case found, legacy && ref.shared():
			doomed = append(doomed, ref)
		case legacy:
			found = true
			indent := d.childIndent(ref.groupValue().BeforeExtra, groups.indent)
			if err := d.replace(ref.groupValue(), indent, e.group(event)); err != nil {
				return err
			}
		default:
			found = true
			if err := d.setString(node[hujson.Object]{at: ref.entry()}, "command", e.command+event.args); err != nil {
				return err
			}
		}
	}
	removeEntries(doomed)
	if found {
		return nil
	}
	return d.appendElement(groups, e.group(event))
}

func (e hookEditor) strip(path string, data, original []byte) ([]byte, error) {
	d, err := parseJSON(path, data)
	if err != nil {
		return nil, err
	}
	hooks, err := d.object(d.top(), "hooks")
	if err != nil || hooks.at == nil {
		return data, err
	}
	removed := false
	for _, event := range e.events {
		groups, err := d.array(hooks, event.name)
		if err != nil {
			return nil, err
		}
		if groups.at == nil {
			continue
		}
		doomed := slices.Collect(e.entries(groups.at))
		removeEntries(doomed)
		removed = removed || len(doomed) > 0
		if len(doomed) > 0 && len(groups.at.Elements) == 0 && !hasMember(original, "hooks", event.name) {
			if err := d.drop(hooks, event.name); err != nil {
				return nil, err
			}
		}
	}
	if !removed {
		return data, nil
	}
	if len(hooks.at.Members) == 0 && !hasMember(original, "hooks") {
		if err := d.drop(d.top(), "hooks"); err != nil {
			return nil, err
		}
	}
	return d.bytes(), nil
}

// drop removes the member called name of n.
func (d *jsonDoc) drop(n node[hujson.Object], name string) error {
	i, err := d.find(n.at, name)
	if err == nil && i >= 0 {
		removeMember(n.at, i)
	}
	return err
}

func (e hookEditor) holds(data []byte) bool {
	for _, event := range e.events {
		v, ok := member(data, "hooks", event.name)
		groups, isArray := v.Value.(*hujson.Array)
		if !ok || !isArray {
			continue
		}
		for ref := range e.entries(groups) {
			if !slices.Contains(event.legacy, ref.matcher()) {
				return true
			}
		}
	}
	return false
}

func (hookEditor) blank(data []byte) bool { return blankJSON(data) }

// An entryRef is the place of one hook command: groups[group].hooks[index].
type entryRef struct {
	groups *hujson.Array
	group  int
	hooks  *hujson.Array
	index  int
}

// entries yields our commands among groups. What has another shape belongs to
// somebody else and is passed over.
func (e hookEditor) entries(groups *hujson.Array) func(yield func(entryRef) bool) {
	return func(yield func(entryRef) bool) {
		for g := range groups.Elements {
			hooks, _ := field(groups.Elements[g], "hooks").Value.(*hujson.Array)
			if hooks == nil {
				continue
			}
			for i, h := range hooks.Elements {
				command, ok := field(h, "command").Value.(hujson.Literal)
				if ok && command.Kind() == '"' && e.ours(command.String()) && !yield(entryRef{groups, g, hooks, i}) {
					return
				}
			}
		}
	}
}

// field returns the first member of v called name, a Value with a nil Value
// when there is none.
func field(v hujson.Value, name string) hujson.Value {
	if o, ok := v.Value.(*hujson.Object); ok {
		for _, m := range o.Members {
			if m.Name.Value.(hujson.Literal).String() == name {
				return m.Value
			}
		}
	}
	return hujson.Value{}
}

func (r entryRef) groupValue() *hujson.Value { return &r.groups.Elements[r.group] }
func (r entryRef) entry() *hujson.Object     { return r.hooks.Elements[r.index].Value.(*hujson.Object) }
func (r entryRef) shared() bool              { return len(r.hooks.Elements) > 1 }

func (r entryRef) matcher() string {
	if m, ok := field(*r.groupValue(), "matcher").Value.(hujson.Literal); ok {
		return m.String()
	}
	return ""
}

// removeEntries removes refs, which are in document order, and every group
// that has nothing left.
func removeEntries(refs []entryRef) {
	for _, r := range slices.Backward(refs) {
		removeElement(r.hooks, r.index)
		if len(r.hooks.Elements) == 0 {
			removeElement(r.groups, r.group)
		}
	}
}
