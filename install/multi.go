package install

import (
	"strings"

	"c2c/internal/format"
)

// multiEditor edits several parts of ours in one file: the server first, then the hooks.
type multiEditor []editor

func (all multiEditor) kind() string {
	var kinds []string
	for _, e := range all {
		kinds = append(kinds, e.kind())
	}
	return strings.Join(kinds, "+")
}

func (all multiEditor) add(path string, data []byte) (_ []byte, err error) {
	for _, e := range all {
		if data, err = e.add(path, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (all multiEditor) strip(path string, data, original []byte) (_ []byte, err error) {
	for _, e := range all {
		if data, err = e.strip(path, data, original); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// find describes all parts together. If some parts are there and others are missing, its report
// also names the missing ones.
func (all multiEditor) find(f *File) (whole part, err error) {
	parts := make([]part, len(all))
	for i, e := range all {
		if parts[i], err = e.find(f); err != nil {
			return part{}, err
		}
		whole.there = whole.there || parts[i].there
		whole.ours = whole.ours || parts[i].ours
		whole.overHTTP = whole.overHTTP || parts[i].overHTTP
	}
	whole.report = func(t target, o Options) (found []format.Finding) {
		var missing []format.Finding
		for i, p := range parts {
			found = append(found, p.findings(t, o)...)
			if t.editor = all[i]; !p.there && t.part() != partServer {
				missing = append(missing, t.broken(t.part(), "no entry"))
			}
		}
		if len(missing) == len(all)-1 && !t.overDaemon && whole.overHTTP {
			return found // the person has set up only the tools, see Inspect
		}
		return append(found, missing...)
	}
	return whole, nil
}
