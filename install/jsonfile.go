package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A jsonDoc is JSON text, perhaps with comments, as hujson reads it: each value with the white space and
// the comments around it. What is not edited comes out as it went in. hujson's own Patch would remove the
// comments before a member too, and format nothing.
type jsonDoc struct {
	path    string // for errors
	src     []byte // the text as it was read, without the byte order mark
	root    hujson.Value
	changed bool
	newline string
	unit    string // one level of indentation
	compact bool   // all on one line
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parseJSON parses data, of which nothing (an absent or blank file) stands for
// an empty object.
func parseJSON(path string, data []byte) (d *jsonDoc, err error) {
	d = &jsonDoc{path: path, newline: lineEnd(data), unit: "  ", src: bytes.TrimPrefix(data, utf8BOM)}
	if len(bytes.TrimSpace(d.src)) == 0 {
		d.src = []byte("{}" + d.newline)
	}
	if d.root, err = parseWhole(d.src); err != nil {
		return nil, fmt.Errorf("parse %s: %s; correct it or move it away, then run again",
			path, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, d.errorAt(&d.root, "the whole is not an object")
	}
	if before, kids := children(&d.root); len(kids) > 0 {
		if indent := indentOf(*before[0]); indent != "" {
			d.unit = indent
		}
		d.compact = !onLines(before[:len(kids)])
	}
	return d, nil
}

// parseWhole is hujson.Parse, which wants a line break behind a comment that ends the file. It keeps slices of its input.
func parseWhole(data []byte) (hujson.Value, error) {
	v, err := hujson.Parse(bytes.Clone(data))
	if err == nil {
		return v, nil
	}
	longer, failed := hujson.Parse(append(bytes.Clone(data), '\n'))
	if failed != nil {
		return v, err
	}
	longer.AfterExtra = longer.AfterExtra[:len(longer.AfterExtra)-1]
	return longer, nil
}

// editJSON returns data as edit has changed it. Without an edit that is what was read: a blank file must
// not become {} for nothing.
func editJSON(path string, data []byte, edit func(d *jsonDoc) error) ([]byte, error) {
	d, err := parseJSON(path, data)
	if err == nil {
		err = edit(d)
	}
	switch {
	case err != nil:
		return nil, err
	case !d.changed:
		return data, nil
	case bytes.HasPrefix(data, utf8BOM):
		return slices.Concat(utf8BOM, d.root.Pack()), nil
	}
	return d.root.Pack(), nil
}

func (d *jsonDoc) errorAt(v *hujson.Value, problem string) error {
	line := 1 + bytes.Count(d.src[:min(v.StartOffset, len(d.src))], []byte("\n"))
	return fmt.Errorf("parse %s: line %d: %s; correct it or move it away, then run again", d.path, line, problem)
}

// find returns the value at the path of names, and how many of them there are; with fewer than all it is
// the value of the last one. Each but the last must be an object. Clients disagree on which of two members
// with one name counts, so that is an error.
func (d *jsonDoc) find(names ...string) (v *hujson.Value, there int, err error) {
	v = &d.root
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

// array returns the array at the path of names, nil when there is nothing.
func (d *jsonDoc) array(names ...string) (*hujson.Value, error) {
	v, there, err := d.find(names...)
	if err != nil || there < len(names) {
		return nil, err
	}
	if _, ok := v.Value.(*hujson.Array); !ok {
		return nil, d.errorAt(v, fmt.Sprintf("%q is not an array", names[len(names)-1]))
	}
	return v, nil
}

// put makes value what is at the path of names.
func (d *jsonDoc) put(value any, names ...string) error {
	v, there, err := d.find(names...)
	if err != nil {
		return err
	}
	if there == len(names) {
		return d.replace(v, value)
	}
	for i := len(names) - 1; i > there; i-- {
		value = map[string]any{names[i]: value}
	}
	return d.insert(v, names[there], value)
}

// replace puts value in the place of old, unless that says the same: its line breaks may be another's.
func (d *jsonDoc) replace(old *hujson.Value, value any) error {
	v, err := d.render(value, d.indentAt(old), !d.compact)
	if err != nil || bytes.Equal(packed(v), packed(*old)) {
		return err
	}
	old.Value, d.changed = v.Value, true
	return nil
}

// insert adds value at the end of v, an array, or an object in which it is called name. A comment behind
// the last one stays there; a trailing comma stays in use.
func (d *jsonDoc) insert(v *hujson.Value, name string, value any) error {
	before, kids := children(v)
	n := len(kids)
	tail := before[n]
	comments, white := splitComments(*tail)
	multi := onLines(before[:n]) || n == 0 && !d.compact
	indent, lead := d.indentAt(v), hujson.Extra{}
	if multi {
		if !endsLine(comments) {
			lead = hujson.Extra(d.newline)
		}
		if !lineBreak(white) && (n == 0 || endsLine(comments)) {
			white = []byte(d.newline + indent)
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
		if multi || !d.compact {
			fresh.BeforeExtra = hujson.Extra(" ")
		}
		v.Members = append(v.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: lead, Value: hujson.String(name)}, Value: fresh})
	case *hujson.Array:
		fresh.BeforeExtra = lead
		v.Elements = append(v.Elements, fresh)
	}
	return nil
}

// remove takes a member's value or an element out of v. Comments around it stay.
func (d *jsonDoc) remove(v, kid *hujson.Value) {
	before, kids := children(v)
	i, last := slices.Index(kids, kid), len(kids)-1
	comments, _ := splitComments(*before[i])
	if i == last && i > 0 {
		prev := &kids[i-1].AfterExtra
		if kid.AfterExtra != nil {
			*prev = append(hujson.Extra{}, *prev...) // its comma is the trailing one now
		} else {
			comments, *prev = slices.Concat(*prev, comments), nil
		}
	}
	rest := []byte(*before[i+1])
	if endsLine(comments) {
		rest = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("\r")), []byte("\n"))
	}
	if rest = slices.Concat(comments, rest); last == 0 && len(bytes.TrimSpace(rest)) == 0 {
		rest = nil // {}
	}
	*before[i+1], d.changed = rest, true
	switch v := v.Value.(type) {
	case *hujson.Object:
		v.Members = slices.Delete(v.Members, i, i+1)
	case *hujson.Array:
		v.Elements = slices.Delete(v.Elements, i, i+1)
	}
}

// removeEmpty removes what is at the path of names when it is empty, and then what is empty around it,
// but nothing that original had.
func (d *jsonDoc) removeEmpty(original []byte, names ...string) {
	for n := len(names); n > 0; n-- {
		v := d.root.Find(pointer(names[:n]))
		if _, kids := children(v); len(kids) > 0 || member(original, names[:n]...) != nil {
			return
		}
		d.remove(d.root.Find(pointer(names[:n-1])), v)
	}
}

// render formats v as this document would, on lines of its own if multi.
func (d *jsonDoc) render(v any, indent string, multi bool) (hujson.Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // paths stay readable
	if multi {
		enc.SetIndent(indent, d.unit)
	}
	if err := enc.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.ReplaceAll(bytes.TrimSpace(buf.Bytes()), []byte("\n"), []byte(d.newline)))
}

// indentAt is the indentation of the line that v begins on in the text as it was read.
func (d *jsonDoc) indentAt(v *hujson.Value) string {
	return indentOf(d.src[:min(v.StartOffset, len(d.src))])
}

// children returns the values of the members or elements of v, and what stands before each of them and
// before the closing bracket.
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

// splitComments splits x behind its last comment, which for a line comment is
// behind its line break.
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

func lineEnd(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func lineBreak(x []byte) bool { return bytes.IndexByte(x, '\n') >= 0 }

func endsLine(x []byte) bool { return len(x) > 0 && x[len(x)-1] == '\n' }

// member returns what is at the path of names in data, or nil.
func member(data []byte, names ...string) *hujson.Value {
	d, err := parseJSON("", data)
	if err != nil {
		return nil
	}
	return d.root.Find(pointer(names))
}

// pointer is a path of names as hujson takes it.
func pointer(names []string) (path string) {
	for _, name := range names {
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return path
}

// packed is a value without white space and comments.
func packed(v hujson.Value) []byte {
	v = v.Clone()
	v.Minimize()
	return v.Pack()
}
