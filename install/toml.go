package install

import (
	"fmt"
	"slices"

	"github.com/creachadair/tomledit/parser"

	"c2c/install/confedit"
)

// A tomlLine is a key of our table, and its value as TOML text.
type tomlLine struct{ key, value string }

// tomlEditor puts the table [mcp_servers.c2c] into a TOML file.
type tomlEditor struct {
	lines   []tomlLine // the command first
	without string     // a key that the method add removes from our table; "": none
}

// isOurs reports whether s is the table mcp_servers.c2c or a part of this table, in any of TOML's
// notations.
func isOurs(s confedit.Statement) bool {
	return parser.Key{"mcp_servers", serverName}.IsPrefixOf(s.Key)
}

// A tomlDoc is a TOML file that may have our table.
type tomlDoc struct{ *confedit.TOML }

// parseTOML parses data. It returns an error if data has a statement that would make our table
// invalid or ambiguous.
func parseTOML(path string, data []byte) (tomlDoc, error) {
	d, err := confedit.ParseTOML(path, data, func(s confedit.Statement, again bool) string {
		switch {
		case len(s.Key) == 1 && s.Key[0] == "mcp_servers" && (s.Array || !s.Heading):
			return "mcp_servers is written as one value; write a table [mcp_servers.NAME] for each server"
		case isOurs(s) && again:
			return fmt.Sprintf("%s is defined twice", s.Key)
		}
		return ""
	})
	return tomlDoc{d}, err
}

func (e tomlEditor) add(path string, data []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	if d.isRemote() {
		return data, nil // the person has set the tools up over HTTP, and a later install leaves them so
	}
	if d.isOurTable() {
		want := e.lines[0].value
		extra := slices.IndexFunc(d.All, func(s confedit.Statement) bool {
			return !s.Heading && s.Key.Equals(parser.Key{"mcp_servers", serverName, e.without})
		})
		if got, ok := confedit.TOMLString(d.value("command")); ok && confedit.QuoteTOML(got) == want && extra < 0 {
			return data, nil
		}
		if extra >= 0 {
			d.Drop(d.All[extra])
		}
		if out := d.withCommand(want); out != nil {
			return e.check(path, out)
		}
	}
	// Put our table at the end: in the middle of another table, the keys after our table would
	// become keys of our table.
	return e.check(path, confedit.AppendTable(d.withoutOurs(), e.table()))
}

// check parses the result of add, and returns an error if the client could not load it.
func (e tomlEditor) check(path string, data []byte) ([]byte, error) {
	d, err := parseTOML(path, data)
	switch {
	case err != nil:
		return nil, err
	case !d.isOurTable():
		return nil, fmt.Errorf("parse %s: c2c's table would be invalid in this file; write mcp_servers as tables, then run again", path)
	}
	return data, nil
}

func (e tomlEditor) table() string {
	table := "[mcp_servers." + serverName + "]\n"
	for _, l := range e.lines {
		table += l.key + " = " + l.value + "\n"
	}
	return table
}

// withCommand returns the text with another command in our table. It leaves the rest of the table
// as it is, because people may have changed it. It returns nil if the command is not on its own
// line.
func (d tomlDoc) withCommand(value string) []byte {
	for _, s := range d.All {
		if s.Heading || !s.Key.Equals(parser.Key{"mcp_servers", serverName, "command"}) {
			continue
		}
		d.SetValue(s, value)
		return d.Bytes()
	}
	return nil
}

// withoutOurs returns the text without our table, and without the lines between its statements.
func (d tomlDoc) withoutOurs() []byte {
	var ours []confedit.Span
	for i := 0; i < len(d.All); i++ {
		first := i
		for i < len(d.All) && isOurs(d.All[i]) {
			i++
		}
		if i > first {
			ours = append(ours, confedit.Span{First: first, Behind: i})
		}
	}
	return d.Without(ours)
}

// strip removes our table, except if the original content is not known and the table has no key
// env: then a person has written it.
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

func (e tomlEditor) find(f *File) (part, error) {
	d, err := parseTOML(f.Path, f.Data)
	if err != nil || !slices.ContainsFunc(d.All, isOurs) {
		return part{}, err
	}
	s := server{ours: d.isOurTable()}
	s.command, _ = confedit.TOMLString(d.value("command"))
	if d.isRemote() {
		s.url, _ = confedit.TOMLString(d.value("url"))
		s.key = d.header(keyHeader)
	}
	if d.value("enabled") != nil && !d.IsTrue("mcp_servers", serverName, "enabled") {
		s.off = notEnabled
	}
	return s.part(f), nil
}

// isOurTable reports whether the table is ours: its args are ["mcp"]. The table of the OCaml c2c
// has no args.
func (d tomlDoc) isOurTable() bool {
	args, _ := d.value("args").(parser.Array)
	if len(args) != 1 {
		return false
	}
	v, _ := args[0].(parser.Value)
	arg, ok := confedit.TOMLString(v.X)
	return ok && arg == "mcp"
}

// isRemote reports whether a person has put the URL of c2c serve into our table, as
// docs/any-client.md shows.
func (d tomlDoc) isRemote() bool {
	at, _ := confedit.TOMLString(d.value("url"))
	return isDaemon(at)
}

// header returns the value of an HTTP header in our table, or "".
func (d tomlDoc) header(name string) (s string) {
	if e := d.First("mcp_servers", serverName, "http_headers", name); e != nil && e.IsMapping() {
		s, _ = confedit.TOMLString(e.Value.X)
	}
	all, _ := d.value("http_headers").(parser.Inline)
	for _, kv := range all {
		if kv.Name.Equals(parser.Key{name}) {
			s, _ = confedit.TOMLString(kv.Value.X)
		}
	}
	return s
}

// value returns the value of a key of our table, in any of TOML's notations, or nil.
func (d tomlDoc) value(key string) parser.Datum {
	if e := d.First("mcp_servers", serverName, key); e != nil && e.IsMapping() {
		return e.Value.X
	}
	return nil
}
