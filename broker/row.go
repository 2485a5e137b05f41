package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/fields"
)

// A row is one session in registry.json. It keeps every field, known or not, in its order and its
// spelling: the original and other versions of us write fields that we have no use for.
type row []field

type field struct {
	name  string
	value json.RawMessage
}

func (r row) get(name string) json.RawMessage {
	for _, f := range r {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

func (r row) text(name string) string {
	s, _ := fields.Text(r.get(name))
	return s
}

func (r row) number(name string) float64 {
	var n float64
	if json.Unmarshal(r.get(name), &n) != nil {
		return 0
	}
	return n
}

func (r row) integer(name string) int64 {
	var n int64
	if json.Unmarshal(r.get(name), &n) != nil {
		return 0
	}
	return n
}

func (r row) sid() string   { return r.text("session_id") }
func (r row) alias() string { return r.text("alias") }

func (r row) equal(other row) bool {
	return slices.EqualFunc(r, other, func(a, b field) bool { return a.name == b.name && string(a.value) == string(b.value) })
}

// holds says whether the row is bound to exactly this process.
func (r row) holds(p process) bool {
	return r.integer("pid") == int64(p.pid) && r.integer("pid_start_time") == p.start
}

func (r *row) set(name string, value json.RawMessage) {
	for i := range *r {
		if (*r)[i].name == name {
			(*r)[i].value = value
			return
		}
	}
	*r = append(*r, field{name, value})
}

func (r *row) drop(name string) {
	kept := (*r)[:0:0]
	for _, f := range *r {
		if f.name != name {
			kept = append(kept, f)
		}
	}
	*r = kept
}

func (r *row) setText(name, s string) { r.set(name, fields.AppendText(nil, s)) }

func (r *row) setInteger(name string, n int64) {
	r.set(name, strconv.AppendInt(nil, n, 10))
}

// setTime writes a fraction even when it is zero: the original refuses a file in which some of its
// times are integers.
func (r *row) setTime(name string, s float64) {
	text := strconv.FormatFloat(s, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	r.set(name, json.RawMessage(text))
}

// parseRow takes an object apart that encoding/json has found valid.
func parseRow(data []byte) (r row, err error) {
	err = fields.Each(data, func(name string, value json.RawMessage) error {
		r = append(r, field{name, value})
		return nil
	})
	return r, err
}

// parseRegistry reads the whole file. A row without a session or an alias makes it damaged: the
// original refuses such a file too.
func parseRegistry(data []byte) ([]row, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errors.New("not an array")
	}
	rows := make([]row, 0, len(raw))
	for i, data := range raw {
		r, err := parseRow(data)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		if r.sid() == "" || r.alias() == "" {
			return nil, fmt.Errorf("row %d has no session_id or alias", i)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// formatRegistry writes a row a line, for people.
func formatRegistry(rows []row) []byte {
	if len(rows) == 0 {
		return []byte("[]\n")
	}
	b := []byte("[\n")
	for i, r := range rows {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = r.appendJSON(b)
	}
	return append(b, "\n]\n"...)
}

func (r row) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, f := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(fields.AppendText(b, f.name), ':')
		b = append(b, f.value...)
	}
	return append(b, '}')
}
