package install

import (
	"slices"
	"strings"

	"c2c/broker/doctor"
)

// joint puts several parts of ours into one file: the server first, then what runs beside it.
type joint []editor

func (j joint) kind() string {
	var kinds []string
	for _, e := range j {
		kinds = append(kinds, e.kind())
	}
	return strings.Join(kinds, "+")
}

func (j joint) add(path string, data []byte) (_ []byte, err error) {
	for _, e := range j {
		if data, err = e.add(path, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (j joint) strip(path string, data, original []byte) (_ []byte, err error) {
	for _, e := range j {
		if data, err = e.strip(path, data, original); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (j joint) holds(data []byte) bool {
	for _, e := range j {
		if e.holds(data) {
			return true
		}
	}
	return false
}

func (j joint) remote(data []byte) bool {
	return slices.ContainsFunc(j, func(e editor) bool { return isOverHTTP(e, data) })
}

// inspect also tells which part is missing beside others.
func (j joint) inspect(t target, f *file, o Options) (found []doctor.Finding, err error) {
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
	if len(missing) == len(j)-1 && HTTPByHand(t.client, o) {
		return found, nil // see Inspect
	}
	return append(found, missing...), nil
}
