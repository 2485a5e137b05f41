package install

import (
	"fmt"
	"slices"

	"github.com/creachadair/tomledit/parser"

	"c2c/install/confedit"
)

// tomlHooks puts one command under several events of a list of tables in a TOML file:
//
//	[[hooks]]
//	event = EVENT
//	matcher = …
//	command = …
type tomlHooks struct{ hookEditor }

func (tomlHooks) kind() string { return "hooks-toml" }

// A tomlHook is one table of the list that has a command of ours.
type tomlHook struct {
	confedit.Span
	event, command string
	at             int // the index of the command in TOML.All
}

// tables returns our tables. If hooks is written in another notation, it returns an error, because
// TOML then allows no table [[hooks]] in the file.
func (e tomlHooks) tables(path string, data []byte) (d tomlDoc, ours []tomlHook, err error) {
	if d, err = parseTOML(path, data); err != nil {
		return d, nil, err
	}
	for i := 0; i < len(d.All); i++ {
		s := d.All[i]
		if len(s.Key) == 0 || s.Key[0] != hooksKey {
			continue
		}
		if !s.Array || len(s.Key) != 1 {
			return d, nil, fmt.Errorf("parse %s: hooks is not written as tables; write a table [[hooks]] for each hook, then run again", path)
		}
		h := tomlHook{Span: confedit.Span{First: i}}
		for i+1 < len(d.All) && !d.All[i+1].Heading {
			i++
			value, _ := confedit.TOMLString(d.All[i].Value)
			switch {
			case d.All[i].Key.Equals(parser.Key{hooksKey, "event"}):
				h.event = value
			case d.All[i].Key.Equals(parser.Key{hooksKey, "command"}):
				h.command, h.at = value, i
			}
		}
		if h.Behind = i + 1; e.ours(h.command) {
			ours = append(ours, h)
		}
	}
	return d, ours, nil
}

// add adds missing tables. In existing tables of ours it corrects only the command, because people
// may have changed the rest.
func (e tomlHooks) add(path string, data []byte) ([]byte, error) {
	d, ours, err := e.tables(path, data)
	if err != nil {
		return nil, err
	}
	missing, surplus, changed := slices.Clone(e.events), []tomlHook{}, false
	for _, h := range ours {
		i := slices.IndexFunc(missing, func(event hookEvent) bool { return event.name == h.event })
		if i < 0 {
			surplus = append(surplus, h)
			continue
		}
		if command := e.command + missing[i].args; h.command != command {
			d.SetValue(d.All[h.at], confedit.QuoteTOML(command))
			changed = true
		}
		missing = slices.Delete(missing, i, i+1)
	}
	if len(surplus)+len(missing) == 0 && !changed {
		return data, nil
	}
	out := d.Without(spans(surplus))
	for _, event := range missing {
		matcher := ""
		if event.matcher != "" {
			matcher = "matcher = " + confedit.QuoteTOML(event.matcher) + "\n"
		}
		table := fmt.Sprintf("[[%s]]\nevent = %s\n%scommand = %s\ntimeout = %d\n", hooksKey, confedit.QuoteTOML(event.name), matcher, confedit.QuoteTOML(e.command+event.args), hookTimeout)
		out = confedit.AppendTable(out, table)
	}
	if _, ours, err = e.tables(path, out); err == nil && len(ours) != len(e.events) {
		err = fmt.Errorf("parse %s: c2c's tables would be invalid in this file; write hooks as tables [[hooks]], then run again", path)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func spans(tables []tomlHook) (all []confedit.Span) {
	for _, h := range tables {
		all = append(all, h.Span)
	}
	return all
}

func (e tomlHooks) strip(path string, data, _ []byte) ([]byte, error) {
	d, ours, err := e.tables(path, data)
	if err != nil || len(ours) == 0 {
		return data, err
	}
	out := d.Without(spans(ours))
	_, err = parseTOML(path, out)
	return out, err
}

func (e tomlHooks) find(f *File) (part, error) {
	_, ours, err := e.tables(f.Path, f.Data)
	if err != nil {
		return part{}, err
	}
	return e.partOf(func(event hookEvent) (found []hookFound) {
		for _, h := range ours {
			if h.event == event.name {
				found = append(found, hookFound{command: h.command})
			}
		}
		return found
	}), nil
}
