package install

import (
	"slices"
	"strings"

	"c2c/doctor"
)

// multiEditor edits several parts of ours in one file: the server first, then the hooks.
type multiEditor []editor

func (j multiEditor) kind() string {
	var kinds []string
	for _, e := range j {
		kinds = append(kinds, e.kind())
	}
	return strings.Join(kinds, "+")
}

func (j multiEditor) add(path string, data []byte) (_ []byte, err error) {
	for _, e := range j {
		if data, err = e.add(path, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (j multiEditor) strip(path string, data, original []byte) (_ []byte, err error) {
	for _, e := range j {
		if data, err = e.strip(path, data, original); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (j multiEditor) holds(data []byte) bool {
	for _, e := range j {
		if e.holds(data) {
			return true
		}
	}
	return false
}

func (j multiEditor) remote(data []byte) bool {
	return slices.ContainsFunc(j, func(e editor) bool { return isOverHTTP(e, data) })
}

// inspect also reports a part that is missing while others are there.
func (j multiEditor) inspect(t target, f *file, o Options) (found []doctor.Finding, err error) {
	var missing []doctor.Finding
	for _, e := range j {
		one, err := e.inspect(t, f, o)
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
		if t.editor = e; one == nil && t.part() != partServer {
			missing = append(missing, t.problem(t.part(), "no entry"))
		}
	}
	if found == nil {
		return nil, nil
	}
	if len(missing) == len(j)-1 && !t.overDaemon && j.remote(f.data) {
		return found, nil // see Inspect
	}
	return append(found, missing...), nil
}
