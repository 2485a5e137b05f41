package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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
	value := r.get(name)
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : n-1]) // every send looks at every row, nearly always such a one
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
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

func (r *row) setText(name, s string) { r.set(name, quote(s)) }

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

// quote is json.Marshal without the escapes that are meant for HTML.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string into memory cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// parseRow takes an object apart that encoding/json has found valid. Its own decoder would cost a
// send more than all the rest, with a hundred sessions.
func parseRow(data []byte) (row, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil, errors.New("row is not an object")
	}
	var r row
	for data = space(data[1:]); data[0] != '}'; {
		name, rest := value(data)
		member, rest := value(space(space(rest)[1:])) // behind the colon
		var s string
		if err := json.Unmarshal(name, &s); err != nil {
			return nil, err
		}
		r = append(r, field{s, member})
		if data = space(rest); data[0] == ',' {
			data = space(data[1:])
		}
	}
	return r, nil
}

func space(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// value cuts the first value off valid JSON.
func value(data []byte) (v json.RawMessage, rest []byte) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			if !quoted && depth == 0 {
				return json.RawMessage(data[:i+1]), data[i+1:]
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return json.RawMessage(data[:i]), data[i:]
			}
			if depth--; depth == 0 {
				return json.RawMessage(data[:i+1]), data[i+1:]
			}
		case depth == 0 && (c == ',' || c == ':' || c <= ' '):
			return json.RawMessage(data[:i]), data[i:]
		}
	}
	return json.RawMessage(data), nil
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
		b = append(append(b, quote(f.name)...), ':')
		b = append(b, f.value...)
	}
	return append(b, '}')
}
