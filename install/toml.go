package install

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"c2c/broker/doctor"

	"github.com/creachadair/tomledit"
	"github.com/creachadair/tomledit/parser"
	"github.com/creachadair/tomledit/scanner"
)

// A tomlLine is a key of our table with its value as TOML text.
type tomlLine struct{ key, value string }

// tomlEditor puts the table [mcp_servers.c2c] into a TOML file.
type tomlEditor struct {
	lines   []tomlLine // the command first
	without string     // a key that is taken out of a table of ours
}

// A statement is a heading or a key with its value.
type statement struct {
	line    int // of tomlDoc.lines
	heading bool
	array   bool // a heading in double brackets
	full    parser.Key
	value   parser.Datum // of a key
}

// ours reports whether s is or is in the table mcp_servers.c2c, in whatever of
// TOML's ways it is written.
func (s statement) ours() bool { return parser.Key{"mcp_servers", serverName}.IsPrefixOf(s.full) }

// A tomlDoc is TOML text. tomledit says what is in it; an edit takes out lines and puts lines in. Its own
// formatter would normalise the spacing of the whole file.
type tomlDoc struct {
	*tomledit.Document
	lines []string // with their ends; a value of many lines is in the line of its key
	all   []statement
}

// parseTOML reads data. What our table cannot be put beside or told apart from is an error.
func parseTOML(path string, data []byte) (*tomlDoc, error) {
	d := &tomlDoc{lines: tomlLines(data)}
	wrong := func(line int, problem string) error {
		n := 1 + strings.Count(strings.Join(d.lines[:line], ""), "\n")
		return fmt.Errorf("parse %s: line %d, column %d: %s; correct it or move it away, then run again", path, n, column(d.lines[line]), problem)
	}
	// Without a line end the parser takes a statement that is cut short for the end of the file.
	parse := func(lines int) (*tomledit.Document, error) {
		return tomledit.Parse(strings.NewReader(strings.Join(d.lines[:lines], "") + "\n"))
	}
	doc, err := parse(len(d.lines))
	if err != nil { // it tells where it noticed, and not what is wrong: that is behind the most lines that are understood
		good := sort.Search(len(d.lines)+1, func(n int) bool { _, err := parse(n); return err != nil }) - 1
		_, problem, _ := strings.Cut(err.Error(), ": ")
		return nil, wrong(good, problem)
	}
	d.Document = doc
	var places []int // of the statements: tomledit's own line numbers are wrong behind a value of many lines (v0.0.27)
	for i, line := range d.lines {
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			places = append(places, i)
		}
	}
	tables := map[string]bool{}
	add := func(s statement) {
		if len(places) == 0 {
			err = cmp.Or(err, wrong(len(d.lines)-1, "more than one thing on a line"))
			return
		}
		s.line, places = places[0], places[1:]
		d.all = append(d.all, s)
		name := fmt.Sprintf("%q", []string(s.full))
		switch {
		case len(s.full) == 1 && s.full[0] == "mcp_servers" && (s.array || !s.heading):
			err = cmp.Or(err, wrong(s.line, "mcp_servers is written as one value; write a table [mcp_servers.NAME] for each server"))
		case s.ours() && tables[name]:
			err = cmp.Or(err, wrong(s.line, fmt.Sprintf("%s is defined twice", s.full)))
		}
		tables[name] = true
	}
	for _, s := range append([]*tomledit.Section{doc.Global}, doc.Sections...) {
		if s.Heading != nil {
			add(statement{heading: true, array: s.IsArray, full: s.Name})
		}
		for _, item := range s.Items {
			if kv, ok := item.(*parser.KeyValue); ok {
				add(statement{full: slices.Concat(s.TableName(), kv.Name), value: kv.Value.X})
			}
		}
	}
	if len(places) > 0 {
		err = cmp.Or(err, wrong(places[0], "not understood"))
	}
	return d, err
}

// column is where a line stops being understood, from 1, if the parser says that and it is in the line itself; else where its
// text begins.
func column(line string) int {
	begin := 1 + len(line) - len(strings.TrimLeft(line, " \t"))
	_, err := tomledit.Parse(strings.NewReader(line + "\n"))
	var row, col int
	if err == nil {
		return begin
	}
	if n, _ := fmt.Sscanf(err.Error(), "at %d:%d:", &row, &col); n == 2 && row == 1 {
		return min(col+1, len(strings.TrimRight(line, "\r\n"))+1)
	}
	if n, _ := fmt.Sscanf(err.Error(), "offset %d:", &col); n == 1 && col < len(line) {
		return max(begin, col)
	}
	return begin
}

// tomlLines splits data, with the line ends. A value of many lines stays whole.
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

func (e tomlEditor) add(path string, data []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	if d.isRemote() {
		return data, nil // its person has set it up so; an update changes nothing there
	}
	if d.isOurTable() {
		want := e.lines[0].value
		extra := slices.IndexFunc(d.all, func(s statement) bool {
			return !s.heading && s.full.Equals(parser.Key{"mcp_servers", serverName, e.without})
		})
		if got, ok := tomlString(d.value("command")); ok && tomlQuote(got) == want && extra < 0 {
			return data, nil
		}
		if extra >= 0 {
			d.lines[d.all[extra].line] = ""
		}
		if out := d.withCommand(want); out != nil {
			return e.check(path, out)
		}
	}
	// At the end: in the middle of another table it would take over the keys that follow.
	return e.check(path, appendTable(d.withoutOurs(), e.table(data)))
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
		d.setValue(s, value)
		return []byte(strings.Join(d.lines, ""))
	}
	return nil
}

// setValue writes another value into the line of a key, and keeps the comment behind it.
func (d *tomlDoc) setValue(s statement, value string) {
	key, old, _ := strings.Cut(d.lines[s.line], "=")
	if token, ok := s.value.(parser.Token); ok {
		old = strings.Replace(old, token.String(), value, 1)
	} else {
		old = " " + value + lineEnd([]byte(old))
	}
	d.lines[s.line] = key + "=" + old
}

// withoutOurs is the text without our table, and what stands between two statements of it.
func (d *tomlDoc) withoutOurs() []byte {
	var ours []statements
	for i := 0; i < len(d.all); i++ {
		first := i
		for i < len(d.all) && d.all[i].ours() {
			i++
		}
		if i > first {
			ours = append(ours, statements{first, i})
		}
	}
	return d.without(ours)
}

// statements are those of tomlDoc.all from first to before behind.
type statements struct{ first, behind int }

// without is the text without some statements, what stands between those of one span (comments, blank lines), and
// the blank lines after them.
func (d *tomlDoc) without(spans []statements) []byte {
	blank := func(i int) bool { return strings.TrimSpace(d.lines[i]) == "" }
	out, next := []byte{}, 0 // the next line that is still to be looked at
	for len(spans) > 0 {
		first, end := d.all[spans[0].first].line, 0
		for len(spans) > 0 && (end == 0 || d.all[spans[0].first].line == end) {
			end = d.all[spans[0].behind-1].line + 1
			for end < len(d.lines) && blank(end) {
				end++
			}
			spans = spans[1:]
		}
		// At the end of the file the blank line before ours goes, elsewhere those behind it.
		if end == len(d.lines) && first > next && blank(first-1) {
			first--
		}
		out = append(out, strings.Join(d.lines[next:first], "")...)
		next = end
	}
	return append(out, strings.Join(d.lines[next:], "")...)
}

// strip leaves a table of a person's own. Where nothing is known of the file, ours is what has an environment.
func (e tomlEditor) strip(path string, data, original []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	if !d.isOurTable() || original == nil && d.First("mcp_servers", serverName, "env") == nil {
		return data, nil
	}
	out := d.withoutOurs()
	_, err = parseTOML(path, out)
	return out, err
}

func (tomlEditor) kind() string { return kindOfServers + "toml" }

func (tomlEditor) holds(data []byte) bool {
	d, err := parseTOML("", data)
	return err == nil && d.isOurTable()
}

func (tomlEditor) remote(data []byte) bool {
	d, err := parseTOML("", data)
	return err == nil && d.isRemote()
}

func (e tomlEditor) inspect(t target, f *file, o Options) ([]doctor.Finding, error) {
	d, err := parseTOML(t.path, f.data)
	if err != nil || !slices.ContainsFunc(d.all, statement.ours) {
		return nil, err
	}
	command, _ := tomlString(d.value("command"))
	found := t.inspectServer(d.isOurTable(), command, o)
	if d.isRemote() {
		at, _ := tomlString(d.value("url"))
		found = t.inspectHTTP(at, d.header(keyHeader), f, o.HTTP)
	}
	if d.value("enabled") != nil && !d.isTrue("mcp_servers", serverName, "enabled") && found.Status == doctor.OK {
		found = off(t.client, partServer, t.path, notEnabled)
	}
	return []doctor.Finding{found}, nil
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

// isRemote says whether a person has our table lead to c2c serve, as docs/any-client.md shows it.
func (d *tomlDoc) isRemote() bool {
	at, _ := tomlString(d.value("url"))
	return isDaemon(at)
}

// header returns one that the table says to send, or "".
func (d *tomlDoc) header(name string) (s string) {
	if e := d.First("mcp_servers", serverName, "http_headers", name); e != nil && e.IsMapping() {
		s, _ = tomlString(e.Value.X)
	}
	all, _ := d.value("http_headers").(parser.Inline)
	for _, kv := range all {
		if kv.Name.Equals(parser.Key{name}) {
			s, _ = tomlString(kv.Value.X)
		}
	}
	return s
}

// value returns that of a key in mcp_servers.c2c, in whatever of TOML's ways it is written, or nil.
func (d *tomlDoc) value(key string) parser.Datum {
	if e := d.First("mcp_servers", serverName, key); e != nil && e.IsMapping() {
		return e.Value.X
	}
	return nil
}

func (d *tomlDoc) isTrue(names ...string) bool {
	e := d.First(names...)
	if e == nil || !e.IsMapping() {
		return false
	}
	token, ok := e.Value.X.(parser.Token)
	return ok && token.String() == "true"
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
