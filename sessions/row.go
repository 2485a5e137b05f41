package sessions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"c2c/internal/fields"
)

// A Row is one session in registry.json: its JSON object on one line, without a space between the
// members. It keeps every field, known or not, in order and as written: other programs and versions
// have fields that we do not use. Its bytes are never changed in place.
type Row []byte

// Get returns the value of a field, or nil. Nearly every row has no nested object and no escapes:
// then Get finds the name by its bytes, because parsing takes ten times as long.
func (r Row) Get(name string) (value json.RawMessage) {
	if len(r) > 0 && bytes.IndexByte(r[1:], '{') < 0 && bytes.IndexByte(r, '[') < 0 && bytes.IndexByte(r, '\\') < 0 {
		return r.find(name)
	}
	if json.Valid(r) {
		r.each(func(n string, v json.RawMessage) {
			if n == name && value == nil {
				value = v
			}
		})
	}
	return value
}

func (r Row) find(name string) json.RawMessage {
	key := append(make([]byte, 0, 64), '"')
	key = append(append(key, name...), '"', ':')
	i := bytes.Index(r, key)
	if i < 0 {
		return nil
	}
	value := r[i+len(key):]
	if text, ok := bytes.CutPrefix(value, []byte(`"`)); ok {
		return json.RawMessage(value[:bytes.IndexByte(text, '"')+2])
	}
	if end := bytes.IndexAny(value, ",}"); end >= 0 {
		value = value[:end]
	}
	return json.RawMessage(value)
}

func (r Row) each(f func(name string, value json.RawMessage)) error {
	return fields.Each(r, func(name string, value json.RawMessage) error {
		f(name, value)
		return nil
	})
}

func (r Row) Text(name string) string {
	s, _ := fields.Text(r.Get(name))
	return s
}

func (r Row) Number(name string) float64 {
	n, err := strconv.ParseFloat(string(r.Get(name)), 64)
	if err != nil || n != n { // Python writes NaN
		return 0
	}
	return n
}

func (r Row) Integer(name string) int64 {
	n, _ := strconv.ParseInt(string(r.Get(name)), 10, 64)
	return n
}

func (r Row) SID() string   { return r.Text("session_id") }
func (r Row) Alias() string { return r.Text("alias") }

// HasProcess compares process id and start time, but not the namespace.
func (r Row) HasProcess(pid int, start int64) bool {
	return r.Integer("pid") == int64(pid) && r.Integer("pid_start_time") == start
}

// Set gives a field a value; nil removes it.
func (r *Row) Set(name string, value json.RawMessage) {
	found := false
	next := Row{}
	r.each(func(n string, v json.RawMessage) {
		if n == name {
			v, found = value, true
		}
		if v != nil {
			next.add(n, v)
		}
	})
	if !found && value != nil {
		next.add(name, value)
	}
	*r = next
}

// add appends a member to a row whose bytes are not shared.
func (r *Row) add(name string, value json.RawMessage) {
	b := []byte("{")
	if n := len(*r); n > 2 {
		b = append((*r)[:n-1], ',')
	}
	b = append(fields.AppendText(b, name), ':')
	*r = append(append(b, value...), '}')
}

func (r *Row) SetText(name, s string) { r.Set(name, fields.AppendText(nil, s)) }

func (r *Row) SetInteger(name string, n int64) {
	r.Set(name, strconv.AppendInt(nil, n, 10))
}

func (r *Row) SetTime(name string, s float64) { r.Set(name, fields.AppendSeconds(nil, s)) }

// ParseRow reads an object that encoding/json has found valid. It returns an error if the object
// has no session id or no alias.
func ParseRow(data []byte) (r Row, err error) {
	err = Row(data).each(func(name string, value json.RawMessage) { r.add(name, value) })
	if bytes.IndexByte(r, '\n') >= 0 {
		var flat bytes.Buffer
		err = errors.Join(err, json.Compact(&flat, r))
		r = flat.Bytes()
	}
	if err == nil && (r.SID() == "" || r.Alias() == "") {
		err = errors.New("it has no session_id or alias")
	}
	return r, err
}

// ParseRegistry reads the whole file. An error says what is damaged; rows then has the intact rows.
func ParseRegistry(data []byte) (rows []Row, err error) {
	if !utf8.Valid(data) {
		data = []byte(string([]rune(string(data)))) // as encoding/json does: U+FFFD for each invalid byte
	}
	var raw []json.RawMessage
	if err = json.Unmarshal(data, &raw); err == nil && raw == nil {
		err = errors.New("not an array")
	}
	if err != nil {
		raw = splitDamaged(data)
	}
	for i, data := range raw {
		r, rerr := ParseRow(data)
		if rerr == nil {
			rows = append(rows, r)
		} else if err == nil {
			err = fmt.Errorf("row %d: %w", i, rerr)
		}
	}
	return rows, err
}

// splitDamaged finds the objects in a damaged file, on lines of their own or one after the other.
// Quotes in a string are escaped, so no text in a string looks like a row.
func splitDamaged(data []byte) (raw []json.RawMessage) {
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("},{"), []byte("},\n{"))) {
		if line = bytes.Trim(line, "[], \t\r\n"); json.Valid(line) {
			raw = append(raw, line)
		}
	}
	return raw
}

// splitRegistry splits a file in our own layout into rows without parsing it. With hundreds of
// rows, parsing would cost a hook more than all its other work. ok is false for any other layout.
func splitRegistry(data []byte) (rows []Row, ok bool) {
	lines, ok := fields.Lines(data)
	if !ok || !utf8.Valid(data) || isLaidOutOtherwise(data) { // the parser replaces bytes that are not UTF-8
		return nil, false
	}
	rows = make([]Row, 0, len(lines))
	for _, line := range lines {
		r := Row(slices.Clip(line)) // clipped: appending to a row must not overwrite the next one
		if !r.isWhole() {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// isLaidOutOtherwise reports whether a space may be beside a colon, a comma or a brace, or whether
// a line may have two rows.
func isLaidOutOtherwise(data []byte) bool {
	has := func(s string) bool { return bytes.Contains(data, []byte(s)) }
	return has("\t") || has("\r") || has("},{") || has(" ") && slices.ContainsFunc([]string{`": `, `" :`, `, "`, ` ,"`, ` }`, `} `, ` {`}, has)
}

// isWhole reports whether the row begins with a session id and an alias.
func (r Row) isWhole() bool {
	rest, ok := bytes.CutPrefix(r, []byte(`{"session_id":"`))
	_, rest, found := bytes.Cut(rest, []byte(`"`))
	return ok && found && bytes.HasPrefix(rest, []byte(`,"alias":"`))
}

// FormatRegistry writes one row on each line, for people and for splitRegistry.
func FormatRegistry(rows []Row) []byte {
	return fields.Array(len(rows), 0, func(b []byte, i int) []byte { return append(b, rows[i]...) })
}
