package confedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A JSON is a parsed JSON file, perhaps with comments. hujson keeps the white space and the
// comments around each value. Text outside an edit stays as it is. c2c does not use hujson's Patch:
// Patch also removes the comments before a member, and does not format the text that it inserts.
type JSON struct {
	path    string // for errors
	src     []byte // the text as it was read
	Root    hujson.Value
	changed bool
	unit    string // one level of indentation
}

// ParseJSON parses data. Empty data counts as an empty object. path is only for errors.
func ParseJSON(path string, data []byte) (d *JSON, err error) {
	d = &JSON{path: path, unit: "  ", src: data}
	if len(bytes.TrimSpace(d.src)) == 0 {
		d.src = []byte("{}\n")
	}
	if d.Root, err = hujson.Parse(bytes.Clone(d.src)); err != nil {
		return nil, fmt.Errorf("parse %s: %s; correct the file or move it away, then run again",
			path, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := d.Root.Value.(*hujson.Object); !ok {
		return nil, d.errorAt(&d.Root, "the whole is not an object")
	}
	if before, kids := children(&d.Root); len(kids) > 0 {
		if indent := indentOf(*before[0]); indent != "" {
			d.unit = indent
		}
	}
	return d, nil
}

// EditJSON returns data with the changes that the function edit makes. If edit changes nothing,
// EditJSON returns data itself, so that a blank file does not become {}.
func EditJSON(path string, data []byte, edit func(d *JSON) error) ([]byte, error) {
	d, err := ParseJSON(path, data)
	if err == nil {
		err = edit(d)
	}
	switch {
	case err != nil:
		return nil, err
	case !d.changed:
		return data, nil
	}
	return d.Root.Pack(), nil
}

func (d *JSON) errorAt(v *hujson.Value, problem string) error {
	line := 1 + bytes.Count(d.src[:min(v.StartOffset, len(d.src))], []byte("\n"))
	return fmt.Errorf("parse %s: line %d: %s; correct the file or move it away, then run again", d.path, line, problem)
}

// Find follows a path of member names as far as the path exists. It returns the last value that it
// reaches, and how many of the names lead to that value. Each value before the last must be an
// object. Two members with the same name are an error, because clients disagree about which of the
// two counts.
func (d *JSON) Find(names ...string) (v *hujson.Value, there int, err error) {
	v = &d.Root
	for ; there < len(names); there++ {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, 0, d.errorAt(v, fmt.Sprintf("%q is not an object", names[there-1]))
		}
		var found *hujson.Value
		for i := range o.Members {
			m := &o.Members[i]
			if m.Name.Value.(hujson.Literal).String() != names[there] {
				continue
			}
			if found != nil {
				return nil, 0, d.errorAt(&m.Name, fmt.Sprintf("second member %q", names[there]))
			}
			found = &m.Value
		}
		if found == nil {
			return v, there, nil
		}
		v = found
	}
	return v, there, nil
}

// Array returns the array at the path of names, or nil if the path does not exist.
func (d *JSON) Array(names ...string) (*hujson.Value, error) {
	v, there, err := d.Find(names...)
	if err != nil || there < len(names) {
		return nil, err
	}
	if _, ok := v.Value.(*hujson.Array); !ok {
		return nil, d.errorAt(v, fmt.Sprintf("%q is not an array", names[len(names)-1]))
	}
	return v, nil
}

// Put writes value at the path of names, and makes the missing objects on the path.
func (d *JSON) Put(value any, names ...string) error {
	v, there, err := d.Find(names...)
	if err != nil {
		return err
	}
	if there == len(names) {
		return d.Replace(v, value)
	}
	for i := len(names) - 1; i > there; i-- {
		value = map[string]any{names[i]: value}
	}
	return d.Insert(v, names[there], value)
}

// Replace puts value in the place of old. If both have the same content, it changes nothing,
// because the person may have formatted old.
func (d *JSON) Replace(old *hujson.Value, value any) error {
	v, err := d.render(value, d.indentAt(old), true)
	if err != nil || bytes.Equal(packed(v), packed(*old)) {
		return err
	}
	old.Value, d.changed = v.Value, true
	return nil
}

// Insert adds value at the end of v. If v is an object, the argument name is the name of the new
// member. A comment after the previous last element stays there. If v had a trailing comma, it has
// one again.
func (d *JSON) Insert(v *hujson.Value, name string, value any) error {
	before, kids := children(v)
	n := len(kids)
	tail := before[n]
	comments, white := splitComments(*tail)
	multi := onLines(before[:n]) || n == 0
	indent, lead := d.indentAt(v), hujson.Extra{}
	if multi {
		if !endsLine(comments) {
			lead = hujson.Extra("\n")
		}
		if !lineBreak(white) && (n == 0 || endsLine(comments)) {
			white = []byte("\n" + indent)
		}
		indent += d.unit
		for _, b := range before[:n] {
			if lineBreak(*b) {
				indent = indentOf(*b)
			}
		}
		lead = append(lead, indent...)
	} else if n > 1 {
		_, lead = splitComments(*before[n-1])
	}
	fresh, err := d.render(value, indent, multi)
	if err != nil {
		return err
	}
	if n > 0 && kids[n-1].AfterExtra != nil {
		fresh.AfterExtra = hujson.Extra{}
	}
	*tail, d.changed = white, true
	lead = slices.Concat(comments, lead)
	switch v := v.Value.(type) {
	case *hujson.Object:
		fresh.BeforeExtra = hujson.Extra(" ")
		v.Members = append(v.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: lead, Value: hujson.String(name)}, Value: fresh})
	case *hujson.Array:
		fresh.BeforeExtra = lead
		v.Elements = append(v.Elements, fresh)
	}
	return nil
}

// Remove removes kid from v. If v is an object, kid is the value of a member, otherwise an element.
// Comments around kid stay.
func (d *JSON) Remove(v, kid *hujson.Value) {
	before, kids := children(v)
	i, last := slices.Index(kids, kid), len(kids)-1
	comments, _ := splitComments(*before[i])
	if i == last && i > 0 {
		prev := &kids[i-1].AfterExtra
		if kid.AfterExtra != nil {
			*prev = append(hujson.Extra{}, *prev...) // the comma after prev is now a trailing comma
		} else {
			comments, *prev = slices.Concat(*prev, comments), nil
		}
	}
	rest := []byte(*before[i+1])
	if endsLine(comments) {
		rest = bytes.TrimPrefix(rest, []byte("\n"))
	}
	if rest = slices.Concat(comments, rest); last == 0 && len(bytes.TrimSpace(rest)) == 0 {
		rest = nil // v is empty now, so write {} or []
	}
	*before[i+1], d.changed = rest, true
	switch v := v.Value.(type) {
	case *hujson.Object:
		v.Members = slices.Delete(v.Members, i, i+1)
	case *hujson.Array:
		v.Elements = slices.Delete(v.Elements, i, i+1)
	}
}

// RemoveEmpty removes the container at the path of names if it is empty, and then each parent that
// has become empty. It keeps every container that original had.
func (d *JSON) RemoveEmpty(original []byte, names ...string) {
	for n := len(names); n > 0; n-- {
		v := d.Root.Find(pointer(names[:n]))
		if _, kids := children(v); len(kids) > 0 || Member(original, names[:n]...) != nil {
			return
		}
		d.Remove(d.Root.Find(pointer(names[:n-1])), v)
	}
}

// render formats v in the style of this document. If multi is set, each element gets its own line.
func (d *JSON) render(v any, indent string, multi bool) (hujson.Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // paths stay readable
	if multi {
		enc.SetIndent(indent, d.unit)
	}
	if err := enc.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.TrimSpace(buf.Bytes()))
}

// indentAt returns the indentation of the line on which v begins in the original text.
func (d *JSON) indentAt(v *hujson.Value) string {
	return indentOf(d.src[:min(v.StartOffset, len(d.src))])
}

// children returns the values of the members or elements of v (kids), and the white space and
// comments before each of them and before the closing bracket (before).
func children(v *hujson.Value) (before []*hujson.Extra, kids []*hujson.Value) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		for i := range v.Members {
			before, kids = append(before, &v.Members[i].Name.BeforeExtra), append(kids, &v.Members[i].Value)
		}
		before = append(before, &v.AfterExtra)
	case *hujson.Array:
		for i := range v.Elements {
			before, kids = append(before, &v.Elements[i].BeforeExtra), append(kids, &v.Elements[i])
		}
		before = append(before, &v.AfterExtra)
	}
	return before, kids
}

func onLines(before []*hujson.Extra) bool {
	return slices.ContainsFunc(before, func(b *hujson.Extra) bool { return lineBreak(*b) })
}

// splitComments splits x after its last comment. A line comment includes its line break.
func splitComments(x hujson.Extra) (comments, white []byte) {
	end := 0
	for i := 0; i < len(x); {
		length := 1
		switch rest := x[i:]; {
		case bytes.HasPrefix(rest, []byte("//")):
			length = bytes.IndexByte(rest, '\n') + 1
			end = i + length
		case bytes.HasPrefix(rest, []byte("/*")):
			length = 2 + bytes.Index(rest[2:], []byte("*/")) + 2
			end = i + length
		}
		i += length
	}
	return bytes.Clone(x[:end]), bytes.Clone(x[end:])
}

// indentOf returns the white space that begins the last line of x.
func indentOf(x []byte) string {
	line := string(x[bytes.LastIndexByte(x, '\n')+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func lineBreak(x []byte) bool { return bytes.IndexByte(x, '\n') >= 0 }

func endsLine(x []byte) bool { return len(x) > 0 && x[len(x)-1] == '\n' }

// Member returns the value at the path of names in data, or nil.
func Member(data []byte, names ...string) *hujson.Value {
	d, err := ParseJSON("", data)
	if err != nil {
		return nil
	}
	return d.Root.Find(pointer(names))
}

// Lists reports whether the array at the path of names in data contains text.
func Lists(data []byte, text string, names ...string) bool {
	return slices.Contains(Texts(Member(data, names...)), text)
}

// On reports whether the value at the path of names in data is true.
func On(data []byte, names ...string) bool { return IsTrue(Member(data, names...)) }

// Off reports whether data has a value at the path of names that is not true.
func Off(data []byte, names ...string) bool {
	v := Member(data, names...)
	return v != nil && !IsTrue(v)
}

// At returns the value at the path of names, or nil.
func (d *JSON) At(names ...string) *hujson.Value { return d.Root.Find(pointer(names)) }

// Restore replaces the value of v by a value from another text, with the formatting of that text.
func (d *JSON) Restore(v, original *hujson.Value) { v.Value, d.changed = original.Value, true }

// Size returns the number of members or elements of v.
func Size(v *hujson.Value) int {
	_, kids := children(v)
	return len(kids)
}

// pointer returns a path of names as a JSON Pointer, the form that hujson needs.
func pointer(names []string) (path string) {
	for _, name := range names {
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return path
}

// packed returns v without white space and comments.
func packed(v hujson.Value) []byte {
	v = v.Clone()
	v.Minimize()
	return v.Pack()
}

// Elements returns the elements of v; none if v is nil or not an array.
func Elements(v *hujson.Value) (all []*hujson.Value) {
	if v != nil && v.Value.Kind() == '[' {
		_, all = children(v)
	}
	return all
}

// Text returns v as a string; "" if v is nil or not a string.
func Text(v *hujson.Value) string {
	if v != nil {
		if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '"' {
			return l.String()
		}
	}
	return ""
}

// IsTrue reports whether v is the literal true.
func IsTrue(v *hujson.Value) bool { return v != nil && v.Value.Kind() == 't' }

// Texts returns the strings in the array v.
func Texts(v *hujson.Value) (words []string) {
	for _, kid := range Elements(v) {
		words = append(words, Text(kid))
	}
	return words
}
