package install

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/creachadair/tomledit/parser"
	"github.com/creachadair/tomledit/scanner"
)

// A tomlLine is a key of our table with its value as TOML text.
type tomlLine struct{ key, value string }

// tomlEditor puts the table [mcp_servers.c2c] into a TOML file. The tomledit
// library parses; the text is spliced here, because its formatter normalises
// the spacing of everything.
type tomlEditor struct{ lines []tomlLine } // the command first

// A statement is a heading, a key with its value, a comment or a blank line.
// Statements tile the file.
type statement struct {
	start, end int
	line       int
	blank      bool
	heading    bool
	array      bool // [[heading]]
	full       parser.Key
	value      parser.Datum // of a key
}

// other reports whether s is a comment or blank line.
func (s statement) other() bool { return s.full == nil }

// ours reports whether s is or is in the table mcp_servers.c2c, in whatever of
// TOML's ways it is written.
func (s statement) ours() bool { return parser.Key{"mcp_servers", serverName}.IsPrefixOf(s.full) }

// parseTOML splits data into statements.
func parseTOML(path string, data []byte) ([]statement, error) {
	bad := func(line int, problem any) error {
		return fmt.Errorf("parse %s: line %d: %v; correct it or move it away, then run again", path, line, problem)
	}
	var all []statement
	var table parser.Key
	sc := scanner.New(bytes.NewReader(data))
	for start := 0; start < len(data); {
		end, line, err := statementEnd(sc, start, len(data))
		if err != nil {
			return nil, bad(line, err)
		}
		s := statement{start: start, end: end, line: line}
		items, err := parser.New(bytes.NewReader(data[start:end])).Items()
		if err != nil {
			return nil, bad(line, withoutPlace(err))
		}
		s.blank = len(bytes.TrimSpace(data[start:end])) == 0
		switch {
		case len(items) > 1:
			return nil, bad(line, "more than one thing on a line")
		case len(items) == 0 && !s.blank: // the parser takes a file that ends early for blank
			return nil, bad(line, "a value is missing")
		}
		for _, item := range items {
			switch item := item.(type) {
			case *parser.Heading:
				table = item.Name
				s.heading, s.array, s.full = true, item.IsArray, item.Name
			case *parser.KeyValue:
				s.full, s.value = slices.Concat(table, item.Name), item.Value.X
			}
		}
		all = append(all, s)
		start = end
	}
	return all, checkServers(all, bad)
}

// checkServers refuses what our table cannot be put beside or told apart from.
func checkServers(all []statement, bad func(int, any) error) error {
	tables := map[string]bool{}
	for _, s := range all {
		switch {
		case s.other() || s.full[0] != "mcp_servers":
			continue
		case len(s.full) == 1 && !s.heading:
			return bad(s.line, "mcp_servers is written as one value; write a table [mcp_servers.NAME] for each server")
		case s.array && (len(s.full) == 1 || s.full.Equals(parser.Key{"mcp_servers", serverName})):
			return bad(s.line, "mcp_servers is an array of tables")
		case s.array || !s.ours():
			continue
		}
		name := fmt.Sprintf("%q", []string(s.full))
		if tables[name] {
			return bad(s.line, fmt.Sprintf("%s is defined twice", s.full))
		}
		tables[name] = true
	}
	return nil
}

// statementEnd reads on to the end of the statement that begins at start and
// returns it with the statement's first line.
func statementEnd(sc *scanner.Scanner, start, size int) (end, line int, err error) {
	depth := 0
	heading, closed := false, false
	for first := true; ; {
		err := sc.Next()
		at := sc.Location()
		if line == 0 {
			line = at.First.Line
		}
		switch {
		case err == io.EOF && depth > 0:
			return 0, line, fmt.Errorf("a bracket is not closed")
		case err == io.EOF:
			return size, line, nil
		case err != nil:
			return 0, at.Last.Line, withoutPlace(err)
		}
		tok := sc.Token()
		if (tok == scanner.Newline || tok == scanner.Comment) && depth <= 0 {
			return at.End, line, nil
		}
		if closed {
			return 0, line, fmt.Errorf("more than a comment behind a table name")
		}
		switch tok {
		case scanner.Newline, scanner.Comment:
			if heading {
				return 0, line, fmt.Errorf("a table name is not closed")
			}
			continue
		case scanner.LBracket, scanner.LInline:
			heading = heading || first
			depth++
		case scanner.RBracket, scanner.RInline:
			depth--
			closed = heading && depth == 0
		}
		first = false
	}
}

// withoutPlace strips the parser's own idea of the position, which counts from
// the start of the statement.
func withoutPlace(err error) error {
	text := err.Error()
	if strings.HasPrefix(text, "at ") || strings.HasPrefix(text, "offset ") {
		if _, rest, ok := strings.Cut(text, ": "); ok {
			text = rest
		}
	}
	return fmt.Errorf("%s", text)
}

func (e tomlEditor) add(path string, data []byte) ([]byte, error) {
	all, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	table := e.table(data)
	runs := ourRuns(all)
	if len(runs) == 0 {
		return e.check(path, appendTable(data, table))
	}
	if isOurTable(all) {
		return e.setCommand(path, all, data, table)
	}
	return e.check(path, replaceTable(all, runs, data, table))
}

// check parses what add made: it must never hand back a file that its owner
// cannot load.
func (e tomlEditor) check(path string, data []byte) ([]byte, error) {
	all, err := parseTOML(path, data)
	if err == nil && !isOurTable(all) {
		err = fmt.Errorf("parse %s: our table would not be understood; write mcp_servers as tables, then run again", path)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// table returns our table with the line ends of data.
func (e tomlEditor) table(data []byte) string {
	var b strings.Builder
	nl := lineEnd(data)
	b.WriteString("[mcp_servers." + serverName + "]" + nl)
	for _, l := range e.lines {
		b.WriteString(l.key + " = " + l.value + nl)
	}
	return b.String()
}

func lineEnd(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
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

// setCommand brings the command of our table up to date and keeps the rest,
// which people may have tuned.
func (e tomlEditor) setCommand(path string, all []statement, data []byte, table string) ([]byte, error) {
	want := e.lines[0]
	if got, ok := tomlString(ourValues(all)["command"]); ok && tomlQuote(got) == want.value {
		return data, nil
	}
	for _, s := range all {
		if !s.ours() || s.heading || s.full[len(s.full)-1] != "command" || len(s.full) != 3 {
			continue
		}
		start, end := valueSpan(data[s.start:s.end])
		return e.check(path, slices.Concat(data[:s.start+start], []byte(want.value), data[s.start+end:]))
	}
	return e.check(path, replaceTable(all, ourRuns(all), data, table))
}

// valueSpan returns where the value of a key is in the statement text.
func valueSpan(text []byte) (start, end int) {
	sc := scanner.New(bytes.NewReader(text))
	for sc.Next() == nil && sc.Token() != scanner.Equal {
	}
	depth := 0
	for first := true; sc.Next() == nil; first = false {
		if first {
			start = sc.Span().Pos
		}
		switch sc.Token() {
		case scanner.LBracket, scanner.LInline:
			depth++
		case scanner.RBracket, scanner.RInline:
			depth--
		}
		if depth == 0 {
			return start, sc.Span().End
		}
	}
	return start, len(text)
}

// replaceTable puts table where our first heading is, and removes all else of
// ours. Without a heading of ours it goes to the end: in the middle of another
// table it would take over the keys that follow.
func replaceTable(all []statement, runs []run, data []byte, table string) []byte {
	at := slices.IndexFunc(runs, func(r run) bool { return all[r.first].heading })
	var out []byte
	last := 0
	for i, r := range runs {
		out = append(out, data[last:all[r.first].start]...)
		if i == at {
			out = append(out, table...)
			last = all[r.last].end
			continue
		}
		last = all[r.lastWithBlanks(all)].end
	}
	out = append(out, data[last:]...)
	if at < 0 {
		out = appendTable(out, table)
	}
	return out
}

// A run is a stretch of statements of ours, with what stands between them.
type run struct{ first, last int }

func ourRuns(all []statement) []run {
	var runs []run
	for i, s := range all {
		if s.other() || !s.ours() {
			continue
		}
		between := func(s statement) bool { return !s.other() }
		if n := len(runs); n > 0 && !slices.ContainsFunc(all[runs[n-1].last+1:i], between) {
			runs[n-1].last = i
			continue
		}
		runs = append(runs, run{i, i})
	}
	return runs
}

// lastWithBlanks is the last of the blank lines after r.
func (r run) lastWithBlanks(all []statement) int {
	last := r.last
	for last+1 < len(all) && all[last+1].blank {
		last++
	}
	return last
}

func (e tomlEditor) strip(path string, data, _ []byte) ([]byte, error) {
	all, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	runs := ourRuns(all)
	if len(runs) == 0 {
		return data, nil
	}
	var out []byte
	next := 0
	for _, r := range runs {
		first, last := r.first, r.lastWithBlanks(all)
		// At the end of the file the blank line before ours goes, elsewhere
		// those behind it.
		if last == len(all)-1 && first > next && all[first-1].blank {
			first--
		}
		for _, s := range all[next:first] {
			out = append(out, data[s.start:s.end]...)
		}
		next = last + 1
	}
	for _, s := range all[next:] {
		out = append(out, data[s.start:s.end]...)
	}
	if out == nil {
		out = []byte{}
	}
	if _, err := parseTOML(path, out); err != nil {
		return nil, err
	}
	return out, nil
}

func (tomlEditor) holds(data []byte) bool {
	all, err := parseTOML("", data)
	return err == nil && isOurTable(all)
}

func (tomlEditor) blank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }

// isOurTable tells our table from that of the original c2c, which has no
// arguments.
func isOurTable(all []statement) bool {
	args, ok := ourValues(all)["args"].(parser.Array)
	if !ok || len(args) != 1 {
		return false
	}
	v, ok := args[0].(parser.Value)
	arg, isString := tomlString(v.X)
	return ok && isString && arg == "mcp"
}

// ourValues returns the values in mcp_servers.c2c by their key below it.
func ourValues(all []statement) map[string]parser.Datum {
	values := map[string]parser.Datum{}
	var put func(key parser.Key, v parser.Datum)
	put = func(key parser.Key, v parser.Datum) {
		values[strings.Join(key, ".")] = v
		if inline, ok := v.(parser.Inline); ok {
			for _, kv := range inline {
				put(slices.Concat(key, kv.Name), kv.Value.X)
			}
		}
	}
	for _, s := range all {
		if s.ours() && !s.heading {
			put(s.full[2:], s.value)
		}
	}
	return values
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
