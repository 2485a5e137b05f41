package confedit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/creachadair/tomledit"
	"github.com/creachadair/tomledit/parser"
	"github.com/creachadair/tomledit/scanner"
)

// A Statement is a heading or a key with its value.
type Statement struct {
	Heading bool
	Array   bool // a heading in double brackets
	Key     parser.Key
	Value   parser.Datum // the key's value
	line    int          // index in TOML.lines
}

// A TOML is the text of a TOML file, as tomledit parses it. Edits remove and insert whole lines:
// tomledit's own formatter would change the spacing of the whole file.
type TOML struct {
	*tomledit.Document
	lines []string // with their line ends; a value over several lines is in one element with its key
	All   []Statement
}

// ParseTOML parses data. It calls the function refuse for each statement; if refuse returns a text,
// ParseTOML returns this text as an error. The argument again of refuse says whether the same key
// occurred before.
func ParseTOML(path string, data []byte, refuse func(s Statement, again bool) string) (*TOML, error) {
	d := &TOML{lines: tomlLines(data)}
	wrong := func(line int, problem string) error {
		n := 1 + strings.Count(strings.Join(d.lines[:line], ""), "\n")
		return fmt.Errorf("parse %s: line %d: %s; correct the file or move it away, then run again", path, n, problem)
	}
	// Add a line end: without it, the parser takes an unfinished statement at the end for the end
	// of the file.
	parse := func(lines int) (*tomledit.Document, error) {
		return tomledit.Parse(strings.NewReader(strings.Join(d.lines[:lines], "") + "\n"))
	}
	doc, err := parse(len(d.lines))
	if err != nil {
		// The parser may notice an error late. So the error is on the first line that cannot be
		// parsed together with the lines before it.
		good := sort.Search(len(d.lines)+1, func(n int) bool { _, err := parse(n); return err != nil }) - 1
		_, problem, _ := strings.Cut(err.Error(), ": ")
		return nil, wrong(good, problem)
	}
	d.Document = doc
	var places []int // the lines of the statements: tomledit's line numbers are wrong after a value over several lines (v0.0.27)
	for i, line := range d.lines {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			places = append(places, i)
		}
	}
	seen := map[string]bool{}
	add := func(s Statement) {
		if len(places) == 0 {
			err = cmp.Or(err, wrong(len(d.lines)-1, "more than one statement on a line"))
			return
		}
		s.line, places = places[0], places[1:]
		d.All = append(d.All, s)
		name := fmt.Sprintf("%q", []string(s.Key))
		if problem := refuse(s, seen[name]); problem != "" {
			err = cmp.Or(err, wrong(s.line, problem))
		}
		seen[name] = true
	}
	for _, s := range append([]*tomledit.Section{doc.Global}, doc.Sections...) {
		if s.Heading != nil {
			add(Statement{Heading: true, Array: s.IsArray, Key: s.Name})
		}
		for _, item := range s.Items {
			if kv, ok := item.(*parser.KeyValue); ok {
				add(Statement{Key: slices.Concat(s.TableName(), kv.Name), Value: kv.Value.X})
			}
		}
	}
	if len(places) > 0 {
		err = cmp.Or(err, wrong(places[0], "not a heading or a key with a value"))
	}
	return d, err
}

// tomlLines splits data into lines that keep their line ends. A value over several lines stays in
// one piece.
func tomlLines(data []byte) (lines []string) {
	sc, start, depth := scanner.New(bytes.NewReader(data)), 0, 0
	for sc.Next() == nil {
		switch sc.Token() {
		case scanner.LBracket, scanner.LInline:
			depth++
		case scanner.RBracket, scanner.RInline:
			depth--
		case scanner.Newline, scanner.Comment:
			if end := sc.Span().End; depth <= 0 {
				lines = append(lines, string(data[start:end]))
				start = end
			}
		}
	}
	return append(lines, string(data[start:]))
}

// AppendTable adds a table at the end of data, after a blank line.
func AppendTable(data []byte, table string) []byte {
	out := bytes.Clone(data)
	if len(out) > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, '\n')
	}
	return append(out, table...)
}

// SetValue replaces the value of a key, and keeps the comment after the value.
func (d *TOML) SetValue(s Statement, value string) {
	key, old, _ := strings.Cut(d.lines[s.line], "=")
	if token, ok := s.Value.(parser.Token); ok {
		old = strings.Replace(old, token.String(), value, 1)
	} else {
		old = " " + value + "\n"
	}
	d.lines[s.line] = key + "=" + old
}

// A Span stands for the statements TOML.All[First:Behind].
type Span struct{ First, Behind int }

// Without returns the text without the spans. It removes the statements of each span, the comments
// and blank lines between them, and the blank lines after the span.
func (d *TOML) Without(spans []Span) []byte {
	blank := func(i int) bool { return strings.TrimSpace(d.lines[i]) == "" }
	out, next := []byte{}, 0 // next is the first line that is not yet copied
	for len(spans) > 0 {
		first, end := d.All[spans[0].First].line, 0
		for len(spans) > 0 && (end == 0 || d.All[spans[0].First].line == end) {
			end = d.All[spans[0].Behind-1].line + 1
			for end < len(d.lines) && blank(end) {
				end++
			}
			spans = spans[1:]
		}
		// At the end of the file, remove the blank line before our statements. Elsewhere, remove
		// the blank lines after them.
		if end == len(d.lines) && first > next && blank(first-1) {
			first--
		}
		out = append(out, strings.Join(d.lines[next:first], "")...)
		next = end
	}
	return append(out, strings.Join(d.lines[next:], "")...)
}

// Drop removes the line of a statement.
func (d *TOML) Drop(s Statement) { d.lines[s.line] = "" }

// Bytes returns the edited text.
func (d *TOML) Bytes() []byte { return []byte(strings.Join(d.lines, "")) }

// IsTrue reports whether the key at the path of names is true.
func (d *TOML) IsTrue(names ...string) bool {
	e := d.First(names...)
	if e == nil || !e.IsMapping() {
		return false
	}
	token, ok := e.Value.X.(parser.Token)
	return ok && token.String() == "true"
}

// TOMLString returns the value of a string on one line. ok is false for any other value.
func TOMLString(d parser.Datum) (string, bool) {
	token, ok := d.(parser.Token)
	if !ok {
		return "", false
	}
	text := token.String()
	switch token.Type {
	case scanner.LString:
		return text[1 : len(text)-1], true
	case scanner.String:
		s, err := scanner.Unescape([]byte(text[1 : len(text)-1]))
		return string(s), err == nil
	}
	return "", false
}

// QuoteTOML returns s as a TOML string.
func QuoteTOML(s string) string { return `"` + string(scanner.Escape(s)) + `"` }
