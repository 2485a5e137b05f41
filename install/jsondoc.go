package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// A jsonDoc is JSON text, perhaps with comments, that is edited in place: what
// is not touched comes out as it went in.
type jsonDoc struct {
	path    string // for errors
	src     []byte
	bom     bool
	root    hujson.Value
	newline string
	unit    string // one level of indentation
	compact bool   // all on one line
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parseJSON parses data, of which nothing (an absent or blank file) stands for
// an empty object.
func parseJSON(path string, data []byte) (*jsonDoc, error) {
	d := &jsonDoc{path: path, newline: "\n", unit: "  "}
	d.src, d.bom = bytes.CutPrefix(data, utf8BOM)
	if bytes.Contains(d.src, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	if len(bytes.TrimSpace(d.src)) == 0 {
		d.src = []byte("{}" + d.newline)
	}
	// hujson keeps slices of its input; the caller's bytes stay the caller's.
	root, err := hujson.Parse(bytes.Clone(d.src))
	if err != nil {
		return nil, fmt.Errorf("parse %s: %s; correct it or move it away, then run again",
			path, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d.root = root
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, d.errorAt(root, "the whole is not an object")
	}
	if len(object.Members) > 0 {
		before := object.Members[0].Name.BeforeExtra
		if indent := indentOf(before); indent != "" {
			d.unit = indent
		}
		d.compact = !anyLineBreak(memberSpaces(object))
	}
	return d, nil
}

// bytes returns the text as it is now.
func (d *jsonDoc) bytes() []byte {
	out := d.root.Pack()
	if d.bom {
		out = append(bytes.Clone(utf8BOM), out...)
	}
	return out
}

func (d *jsonDoc) errorAt(v hujson.Value, problem string) error {
	line := 1 + bytes.Count(d.src[:min(v.StartOffset, len(d.src))], []byte("\n"))
	return fmt.Errorf("parse %s: line %d: %s; correct it or move it away, then run again", d.path, line, problem)
}

// A node is an object or array with the indentation of the line that its
// closing bracket belongs on.
type node[T any] struct {
	at     *T
	indent string
}

func (d *jsonDoc) top() node[hujson.Object] {
	return node[hujson.Object]{at: d.root.Value.(*hujson.Object)}
}

// find returns the index of the member called name, or -1. Clients disagree on
// which of two members with one name counts, so that is an error.
func (d *jsonDoc) find(o *hujson.Object, name string) (int, error) {
	found := -1
	for i, m := range o.Members {
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if found >= 0 {
			return -1, d.errorAt(m.Name, fmt.Sprintf("second member %q", name))
		}
		found = i
	}
	return found, nil
}

// object returns the member called name of n, which must be an object; nil
// when there is no such member.
func (d *jsonDoc) object(n node[hujson.Object], name string) (child node[hujson.Object], err error) {
	i, err := d.find(n.at, name)
	if i < 0 || err != nil {
		return child, err
	}
	m := &n.at.Members[i]
	o, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return child, d.errorAt(m.Value, fmt.Sprintf("%q is not an object", name))
	}
	return node[hujson.Object]{o, d.childIndent(m.Name.BeforeExtra, n.indent)}, nil
}

// array is object for arrays.
func (d *jsonDoc) array(n node[hujson.Object], name string) (child node[hujson.Array], err error) {
	i, err := d.find(n.at, name)
	if i < 0 || err != nil {
		return child, err
	}
	m := &n.at.Members[i]
	a, ok := m.Value.Value.(*hujson.Array)
	if !ok {
		return child, d.errorAt(m.Value, fmt.Sprintf("%q is not an array", name))
	}
	return node[hujson.Array]{a, d.childIndent(m.Name.BeforeExtra, n.indent)}, nil
}

// childIndent is the indentation of the line on which a member or element
// starts.
func (d *jsonDoc) childIndent(before hujson.Extra, parent string) string {
	if bytes.IndexByte(before, '\n') < 0 {
		return parent // on its parent's line
	}
	return indentOf(before)
}

// append adds a member at the end of n.
func (d *jsonDoc) append(n node[hujson.Object], name string, v any) error {
	s := memberSpaces(n.at)
	before, after := d.makeRoom(s, n.indent)
	value, err := d.render(v, d.childIndent(before, n.indent), lineBreak(before))
	if err != nil {
		return err
	}
	if lineBreak(before) || !d.compact {
		value.BeforeExtra = hujson.Extra(" ")
	}
	value.AfterExtra = after
	key := hujson.Value{BeforeExtra: before, Value: hujson.String(name)}
	n.at.Members = append(n.at.Members, hujson.ObjectMember{Name: key, Value: value})
	return nil
}

// appendElement adds an element at the end of n.
func (d *jsonDoc) appendElement(n node[hujson.Array], v any) error {
	before, after := d.makeRoom(elementSpaces(n.at), n.indent)
	value, err := d.render(v, d.childIndent(before, n.indent), lineBreak(before))
	if err != nil {
		return err
	}
	value.BeforeExtra, value.AfterExtra = before, after
	n.at.Elements = append(n.at.Elements, value)
	return nil
}

// replace puts v in the place of old, which starts on a line with indent.
func (d *jsonDoc) replace(old *hujson.Value, indent string, v any) error {
	value, err := d.render(v, indent, !d.compact)
	if err != nil {
		return err
	}
	old.Value = value.Value
	return nil
}

// removeMember takes the i-th member out of o.
func removeMember(o *hujson.Object, i int) {
	closeGap(memberSpaces(o), i)
	o.Members = append(o.Members[:i], o.Members[i+1:]...)
}

func removeElement(a *hujson.Array, i int) {
	closeGap(elementSpaces(a), i)
	a.Elements = append(a.Elements[:i], a.Elements[i+1:]...)
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
	text := bytes.TrimSpace(buf.Bytes())
	return hujson.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte(d.newline)))
}

// spaces are the whitespace and comments of an object's members or an array's
// elements: before and after each, and before the closing bracket.
type spaces struct {
	before, after []*hujson.Extra
	tail          *hujson.Extra
}

func memberSpaces(o *hujson.Object) spaces {
	s := spaces{tail: &o.AfterExtra}
	for i := range o.Members {
		s.before = append(s.before, &o.Members[i].Name.BeforeExtra)
		s.after = append(s.after, &o.Members[i].Value.AfterExtra)
	}
	return s
}

func elementSpaces(a *hujson.Array) spaces {
	s := spaces{tail: &a.AfterExtra}
	for i := range a.Elements {
		s.before = append(s.before, &a.Elements[i].BeforeExtra)
		s.after = append(s.after, &a.Elements[i].AfterExtra)
	}
	return s
}

// makeRoom prepares s for one more at the end and returns the space around it.
// A comment behind the last one stays there; a trailing comma stays in use.
func (d *jsonDoc) makeRoom(s spaces, indent string) (before, after hujson.Extra) {
	n := len(s.before)
	multi := anyLineBreak(s) || n == 0 && !d.compact
	comments, white := splitComments(*s.tail)
	if n > 0 && *s.after[n-1] != nil { // hujson: not nil means a comma follows
		after = hujson.Extra{}
	}
	if !multi {
		if n > 1 {
			_, gap := splitComments(*s.before[n-1])
			comments = append(comments, gap...)
		}
		return comments, after
	}
	memberIndent := indent + d.unit
	for _, b := range s.before {
		if lineBreak(*b) {
			memberIndent = indentOf(*b)
		}
	}
	before = append(before, comments...)
	if !endsLine(comments) {
		before = append(before, d.newline...)
	}
	before = append(before, memberIndent...)
	if !lineBreak(white) && (n == 0 || endsLine(comments)) {
		white = hujson.Extra(d.newline + indent)
	}
	*s.tail = white
	return before, after
}

// closeGap prepares s for the loss of the i-th. Comments around it stay.
func closeGap(s spaces, i int) {
	last := len(s.before) - 1
	comments, _ := splitComments(*s.before[i])
	switch {
	case i < last:
		*s.before[i+1] = joinSpace(comments, *s.before[i+1])
	case last == 0:
		*s.tail = joinSpace(comments, *s.tail)
		if len(bytes.TrimSpace(*s.tail)) == 0 {
			*s.tail = nil // {}
		}
	case *s.after[last] != nil: // the trailing comma is now that of the one before
		if *s.after[last-1] == nil {
			*s.after[last-1] = hujson.Extra{}
		}
		*s.tail = joinSpace(comments, *s.tail)
	default:
		*s.tail = joinSpace(joinSpace(*s.after[last-1], comments), *s.tail)
		*s.after[last-1] = nil
	}
}

// joinSpace returns a then b, without the line break of b when a ends a line.
func joinSpace(a, b hujson.Extra) hujson.Extra {
	if endsLine(a) {
		b = bytes.TrimPrefix(b, []byte("\r"))
		b = bytes.TrimPrefix(b, []byte("\n"))
	}
	return append(bytes.Clone(a), b...)
}

// splitComments splits x behind its last comment, which for a line comment is
// behind its line break.
func splitComments(x hujson.Extra) (comments, white hujson.Extra) {
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

// indentOf returns what stands between the last line break of x and its end.
func indentOf(x hujson.Extra) string {
	line := string(x[bytes.LastIndexByte(x, '\n')+1:])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func lineBreak(x hujson.Extra) bool { return bytes.IndexByte(x, '\n') >= 0 }

func endsLine(x hujson.Extra) bool { return len(x) > 0 && x[len(x)-1] == '\n' }

func anyLineBreak(s spaces) bool {
	for _, b := range s.before {
		if lineBreak(*b) {
			return true
		}
	}
	return false
}
