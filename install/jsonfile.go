package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A jsonDoc is JSON text, perhaps with comments. hujson says where everything is; an edit puts bytes in
// or takes bytes out there, and the text is parsed again. What is not touched comes out as it went in.
// hujson's own Patch would remove the comments before a member too, and format nothing.
type jsonDoc struct {
	path    string // for errors
	src     []byte // the text as it is now, without the byte order mark
	root    *hujson.Value
	changed bool
	newline string
	unit    string // one level of indentation
	compact bool   // all on one line
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parseJSON parses data, of which nothing (an absent or blank file) stands for
// an empty object.
func parseJSON(path string, data []byte) (*jsonDoc, error) {
	d := &jsonDoc{path: path, newline: lineEnd(data), unit: "  "}
	src := bytes.TrimPrefix(data, utf8BOM)
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte("{}" + d.newline)
	}
	if err := d.parse(src); err != nil {
		return nil, err
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, d.errorAt(d.root, "the whole is not an object")
	}
	if kids, _ := children(d.root); len(kids) > 0 {
		if indent := indentOf(kids[0].before); indent != "" {
			d.unit = indent
		}
		d.compact = !onLines(kids)
	}
	return d, nil
}

func (d *jsonDoc) parse(src []byte) error {
	// hujson keeps slices of its input.
	root, err := hujson.Parse(bytes.Clone(src))
	if err != nil {
		return fmt.Errorf("parse %s: %s; correct it or move it away, then run again",
			d.path, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d.src, d.root = src, &root
	return nil
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
		return slices.Concat(utf8BOM, d.src), nil
	}
	return d.src, nil
}

// splice makes parts the text.
func (d *jsonDoc) splice(parts ...[]byte) error {
	d.changed = true
	return d.parse(bytes.Join(parts, nil))
}

func (d *jsonDoc) errorAt(v *hujson.Value, problem string) error {
	line := 1 + bytes.Count(d.src[:min(v.StartOffset, len(d.src))], []byte("\n"))
	return fmt.Errorf("parse %s: line %d: %s; correct it or move it away, then run again", d.path, line, problem)
}

// find returns the value at the path of names, and how many of them there are; with fewer than all it is
// the value of the last one. Each but the last must be an object. Clients disagree on which of two members
// with one name counts, so that is an error.
func (d *jsonDoc) find(names ...string) (v *hujson.Value, there int, err error) {
	v = d.root
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

// replace puts value in the place of old.
func (d *jsonDoc) replace(old *hujson.Value, value any) error {
	text, err := d.render(value, d.indentAt(old.StartOffset), !d.compact)
	if err != nil || bytes.Equal(text, d.src[old.StartOffset:old.EndOffset]) {
		return err
	}
	return d.splice(d.src[:old.StartOffset], text, d.src[old.EndOffset:])
}

// insert adds value at the end of v, an array, or an object in which it is called name. A comment behind
// the last one stays there; a trailing comma stays in use.
func (d *jsonDoc) insert(v *hujson.Value, name string, value any) error {
	kids, tail := children(v)
	n, end := len(kids), v.EndOffset-1
	comments, white := splitComments(tail)
	tailAt := end - len(tail)
	last, comma, trailing := tailAt, "", ""
	if n > 0 {
		last, comma = kids[n-1].end, ","
		if kids[n-1].comma {
			comma, trailing = "", ","
		}
	}
	indent := d.indentAt(v.StartOffset)
	multi := onLines(kids) || n == 0 && !d.compact
	var before, after []byte
	if multi {
		if !endsLine(comments) {
			before = []byte(d.newline)
		}
		if !lineBreak(white) && (n == 0 || endsLine(comments)) {
			white = []byte(d.newline + indent)
		}
		indent += d.unit
		for _, k := range kids {
			if lineBreak(k.before) {
				indent = indentOf(k.before)
			}
		}
		before = append(before, indent...)
	} else if n > 1 {
		_, before = splitComments(kids[n-1].before)
	}
	text, err := d.render(value, indent, multi)
	if err != nil {
		return err
	}
	if _, ok := v.Value.(*hujson.Object); ok {
		before = append(append(before, hujson.String(name)...), ':')
		if multi || !d.compact {
			before = append(before, ' ')
		}
	}
	after = append([]byte(trailing), white...)
	return d.splice(d.src[:last], []byte(comma), d.src[last:tailAt], comments, before, text, after, d.src[end:])
}

// remove takes a member's value or an element out of v. Comments around it stay.
func (d *jsonDoc) remove(v, member *hujson.Value) error {
	kids, tail := children(v)
	i := slices.IndexFunc(kids, func(k child) bool { return k.end == member.EndOffset })
	k, end := kids[i], v.EndOffset-1
	comments, _ := splitComments(k.before)
	if len(kids) == 1 && len(comments) == 0 && len(bytes.TrimSpace(tail)) == 0 {
		return d.splice(d.src[:v.StartOffset+1], d.src[end:]) // {}
	}
	from, to := k.start-len(k.before)+len(comments), k.end
	head := d.src[:from]
	if k.comma {
		to += len(k.after) + 1
	} else if i > 0 { // the comma before it goes instead
		at := kids[i-1].end + len(kids[i-1].after)
		head = append(bytes.Clone(d.src[:at]), d.src[at+1:from]...)
	}
	rest := d.src[to:]
	if endsLine(comments) {
		rest = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("\r")), []byte("\n"))
	}
	return d.splice(head, rest)
}

// removeEmpty removes what is at the path of names when it is empty, and then what is empty around it,
// but nothing that original had.
func (d *jsonDoc) removeEmpty(original []byte, names ...string) error {
	for n := len(names); n > 0; n-- {
		v := d.root.Find(pointer(names[:n]))
		if kids, _ := children(v); len(kids) > 0 || member(original, names[:n]...) != nil {
			return nil
		}
		if err := d.remove(d.root.Find(pointer(names[:n-1])), v); err != nil {
			return err
		}
	}
	return nil
}

// render formats v as this document would, on lines of its own if multi.
func (d *jsonDoc) render(v any, indent string, multi bool) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // paths stay readable
	if multi {
		enc.SetIndent(indent, d.unit)
	}
	err := enc.Encode(v)
	return bytes.ReplaceAll(bytes.TrimSpace(buf.Bytes()), []byte("\n"), []byte(d.newline)), err
}

// indentAt is the indentation of the line that offset is on.
func (d *jsonDoc) indentAt(offset int) string {
	line := d.src[bytes.LastIndexByte(d.src[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// A child is where a member of an object or an element of an array is, with the white space and the
// comments before it, and between it and its comma.
type child struct {
	start, end    int
	before, after hujson.Extra
	comma         bool
}

// children returns those of v, and what stands before its closing bracket.
func children(v *hujson.Value) (kids []child, tail hujson.Extra) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			kids = append(kids, child{m.Name.StartOffset, m.Value.EndOffset, m.Name.BeforeExtra, m.Value.AfterExtra, true})
		}
		tail = v.AfterExtra
	case *hujson.Array:
		for _, e := range v.Elements {
			kids = append(kids, child{e.StartOffset, e.EndOffset, e.BeforeExtra, e.AfterExtra, true})
		}
		tail = v.AfterExtra
	}
	if n := len(kids); n > 0 {
		kids[n-1].comma = kids[n-1].after != nil // hujson: not nil means a comma follows
	}
	return kids, tail
}

func onLines(kids []child) bool {
	for _, k := range kids {
		if lineBreak(k.before) {
			return true
		}
	}
	return false
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

// pointer is a path of names as hujson takes it; ours need no escapes.
func pointer(names []string) string { return strings.Join(append([]string{""}, names...), "/") }
