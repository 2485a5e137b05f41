package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"c2c/broker/doctor"

	"github.com/creachadair/tomledit"
	"github.com/creachadair/tomledit/parser"
	"github.com/creachadair/tomledit/scanner"
)

// A tomlLine is a key of our table with its value as TOML text.
type tomlLine struct{ key, value string }

// tomlEditor puts the table [mcp_servers.c2c] into a TOML file.
type tomlEditor struct{ lines []tomlLine } // the command first

// A statement is a heading or a key with its value.
type statement struct {
	line    int // of tomlDoc.lines
	heading bool
	array   bool // [[heading]]
	full    parser.Key
	value   parser.Datum // of a key
}

// ours reports whether s is or is in the table mcp_servers.c2c, in whatever of
// TOML's ways it is written.
func (s statement) ours() bool { return parser.Key{"mcp_servers", serverName}.IsPrefixOf(s.full) }

// A tomlDoc is TOML text. tomledit says what is in it; an edit takes out lines and puts lines in. Its own
// formatter would normalise the spacing of the whole file.
type tomlDoc struct {
	path  string
	lines []string // with their ends; a value of many lines is in the line of its key
	all   []statement
}

// parseTOML splits data into lines and statements.
func parseTOML(path string, data []byte) (*tomlDoc, error) {
	d := &tomlDoc{path: path}
	sc, start, depth := scanner.New(bytes.NewReader(data)), 0, 0
	for sc.Next() == nil {
		switch sc.Token() {
		case scanner.LBracket, scanner.LInline:
			depth++
		case scanner.RBracket, scanner.RInline:
			depth--
		case scanner.Newline, scanner.Comment:
			if end := sc.Span().End; depth <= 0 {
				d.lines = append(d.lines, string(data[start:end]))
				start = end
			}
		}
	}
	d.lines = append(d.lines, string(data[start:]))
	items, err := tomlItems(string(data))
	if err != nil {
		return nil, d.broken(err)
	}
	var table parser.Key
	at := -1
	for _, item := range items {
		if _, ok := item.(parser.Comments); ok {
			continue
		}
		if at = d.next(at); at == len(d.lines) {
			return nil, d.errorAt(at-1, "more than one thing on a line")
		}
		switch item := item.(type) {
		case *parser.Heading:
			table = item.Name
			text := strings.TrimSuffix(strings.TrimSpace(d.lines[at]), item.Trailer)
			if !strings.HasSuffix(strings.TrimSpace(text), "]") { // the parser passes over a word there
				return nil, d.errorAt(at, "more than a comment behind a table name")
			}
			d.all = append(d.all, statement{at, true, item.IsArray, table, nil})
		case *parser.KeyValue:
			d.all = append(d.all, statement{at, false, false, slices.Concat(table, item.Name), item.Value.X})
		}
	}
	if d.next(at) < len(d.lines) {
		return nil, d.errorAt(d.next(at), "not understood")
	}
	return d, d.checkServers()
}

// next returns the next line after at that is no comment and not blank.
func (d *tomlDoc) next(at int) int {
	for at++; at < len(d.lines); at++ {
		if text := strings.TrimSpace(d.lines[at]); text != "" && text[0] != '#' {
			break
		}
	}
	return at
}

func (d *tomlDoc) blank(line int) bool { return strings.TrimSpace(d.lines[line]) == "" }

func (d *tomlDoc) errorAt(line int, problem string) error {
	n := 1 + strings.Count(strings.Join(d.lines[:line], ""), "\n")
	return fmt.Errorf("parse %s: line %d: %s; correct it or move it away, then run again", d.path, n, problem)
}

// broken is the error of a text that the parser refuses, at the line that is wrong: the parser tells where
// it noticed.
func (d *tomlDoc) broken(err error) error {
	_, problem, _ := strings.Cut(err.Error(), ": ")
	good := len(d.lines) - 1
	for ; good > 0; good-- {
		if _, err := tomlItems(strings.Join(d.lines[:good], "")); err == nil {
			break
		}
	}
	return d.errorAt(good, problem)
}

// tomlItems parses text. Without a line end the parser takes a statement that is cut short for the end of
// the file.
func tomlItems(text string) ([]parser.Item, error) {
	return parser.New(strings.NewReader(text + "\n")).Items()
}

// checkServers refuses what our table cannot be put beside or told apart from.
func (d *tomlDoc) checkServers() error {
	tables := map[string]bool{}
	for _, s := range d.all {
		switch {
		case s.full[0] != "mcp_servers":
			continue
		case len(s.full) == 1 && !s.heading:
			return d.errorAt(s.line, "mcp_servers is written as one value; write a table [mcp_servers.NAME] for each server")
		case s.array && (len(s.full) == 1 || s.full.Equals(parser.Key{"mcp_servers", serverName})):
			return d.errorAt(s.line, "mcp_servers is an array of tables")
		case s.array || !s.ours():
			continue
		}
		name := fmt.Sprintf("%q", []string(s.full))
		if tables[name] {
			return d.errorAt(s.line, fmt.Sprintf("%s is defined twice", s.full))
		}
		tables[name] = true
	}
	return nil
}

func (e tomlEditor) add(path string, data []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	runs, table := d.ours(), e.table(data)
	switch {
	case len(runs) == 0:
		return e.check(path, appendTable(data, table))
	case d.isOurTable():
		want := e.lines[0].value
		if got, ok := tomlString(d.value("command")); ok && tomlQuote(got) == want {
			return data, nil
		}
		if out := d.withCommand(want); out != nil {
			return e.check(path, out)
		}
	}
	// The table goes where our first heading is. Without one it goes to the end: in the middle of another
	// table it would take over the keys that follow.
	at := slices.IndexFunc(runs, func(r run) bool { return r.heading })
	out := d.cut(runs, at, table)
	if at < 0 {
		out = appendTable(out, table)
	}
	return e.check(path, out)
}

// check parses what add made: it must never hand back a file that its owner
// cannot load.
func (e tomlEditor) check(path string, data []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	switch {
	case err != nil:
		return nil, err
	case !d.isOurTable():
		return nil, fmt.Errorf("parse %s: our table would not be understood; write mcp_servers as tables, then run again", path)
	}
	return data, nil
}

// table returns our table with the line ends of data.
func (e tomlEditor) table(data []byte) string {
	table := "[mcp_servers." + serverName + "]\n"
	for _, l := range e.lines {
		table += l.key + " = " + l.value + "\n"
	}
	return strings.ReplaceAll(table, "\n", lineEnd(data))
}

func appendTable(data []byte, table string) []byte {
	out, nl := bytes.Clone(data), lineEnd(data)
	if len(out) > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, nl...)
		}
		out = append(out, nl...)
	}
	return append(out, table...)
}

// withCommand brings the command of our table up to date and keeps the rest, which people may have tuned;
// nil when the command is not a line of its own.
func (d *tomlDoc) withCommand(value string) []byte {
	for _, s := range d.all {
		if s.heading || !s.full.Equals(parser.Key{"mcp_servers", serverName, "command"}) {
			continue
		}
		key, old, _ := strings.Cut(d.lines[s.line], "=")
		if token, ok := s.value.(parser.Token); ok {
			old = strings.Replace(old, token.String(), value, 1)
		} else {
			old = " " + value + lineEnd([]byte(old))
		}
		return d.cut([]run{{s.line, s.line, false}}, 0, key+"="+old)
	}
	return nil
}

// A run is a stretch of lines with statements of ours and what stands between them, comments and blank
// lines. There is a heading of ours among them, or there is none.
type run struct {
	first, last int
	heading     bool
}

func (d *tomlDoc) ours() (runs []run) {
	for i, s := range d.all {
		switch {
		case !s.ours():
		case i > 0 && d.all[i-1].ours():
			runs[len(runs)-1].last = s.line
		default:
			runs = append(runs, run{s.line, s.line, s.heading})
		}
	}
	return runs
}

// cut takes out runs with the blank lines after them. The at-th of them gives its place to table; at is -1
// for none.
func (d *tomlDoc) cut(runs []run, at int, table string) []byte {
	out, next := []byte{}, 0
	for i, r := range runs {
		first, last, put := r.first, r.last, table
		if i != at {
			put = ""
			for last+1 < len(d.lines) && d.blank(last+1) {
				last++
			}
			// At the end of the file the blank line before ours goes, elsewhere those behind it.
			if last == len(d.lines)-1 && first > next && d.blank(first-1) {
				first--
			}
		}
		out = append(out, strings.Join(d.lines[next:first], "")+put...)
		next = last + 1
	}
	return append(out, strings.Join(d.lines[next:], "")...)
}

func (e tomlEditor) strip(path string, data, _ []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	out := d.cut(d.ours(), -1, "")
	_, err = parseTOML(path, out)
	return out, err
}

func (tomlEditor) holds(data []byte) bool {
	d, err := parseTOML("", data)
	return err == nil && d.isOurTable()
}

func (e tomlEditor) inspect(t target, f *file, o Options) ([]doctor.Finding, error) {
	d, err := parseTOML(t.path, f.data)
	if err != nil || len(d.ours()) == 0 {
		return nil, err
	}
	command, _ := tomlString(d.value("command"))
	return []doctor.Finding{t.inspectServer(d.isOurTable(), command, o)}, nil
}

// isOurTable tells our table from that of the original c2c, which has no
// arguments.
func (d *tomlDoc) isOurTable() bool {
	args, _ := d.value("args").(parser.Array)
	if len(args) != 1 {
		return false
	}
	v, _ := args[0].(parser.Value)
	arg, ok := tomlString(v.X)
	return ok && arg == "mcp"
}

// value returns that of a key in mcp_servers.c2c, in whatever of TOML's ways it is written, or nil.
func (d *tomlDoc) value(key string) parser.Datum {
	doc, err := tomledit.Parse(strings.NewReader(strings.Join(d.lines, "")))
	if err != nil {
		return nil
	}
	if e := doc.First("mcp_servers", serverName, key); e != nil && e.IsMapping() {
		return e.Value.X
	}
	return nil
}

// tomlString returns the text of a one-line string.
func tomlString(d parser.Datum) (string, bool) {
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

func tomlQuote(s string) string { return `"` + string(scanner.Escape(s)) + `"` }
