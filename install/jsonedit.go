package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// serverName is the key of our MCP server in every client's configuration.
const serverName = "c2c"

// A serverEntry is an MCP server as Claude Code's files name it.
type serverEntry struct {
	Type       string            `json:"type"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	AlwaysLoad bool              `json:"alwaysLoad"`
}

// serverEditor puts mcpServers.c2c into a JSON file.
type serverEditor struct{ entry serverEntry }

// add replaces the entry of another implementation as a whole. Of our own it
// only corrects the command: people may have tuned the rest.
func (e serverEditor) add(path string, data []byte) ([]byte, error) {
	d, err := parseJSON(path, data)
	if err != nil {
		return nil, err
	}
	servers, err := d.object(d.top(), "mcpServers")
	if err != nil {
		return nil, err
	}
	if servers.at == nil {
		err := d.append(d.top(), "mcpServers", map[string]any{serverName: e.entry})
		return d.bytes(), err
	}
	i, err := d.find(servers.at, serverName)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		err := d.append(servers, serverName, e.entry)
		return d.bytes(), err
	}
	m := &servers.at.Members[i]
	if !isOurServer(m.Value) {
		err := d.replace(&m.Value, d.childIndent(m.Name.BeforeExtra, servers.indent), e.entry)
		return d.bytes(), err
	}
	entry, err := d.object(servers, serverName)
	if err != nil {
		return nil, err
	}
	if err := d.setString(entry, "command", e.entry.Command); err != nil {
		return nil, err
	}
	return result(d, data), nil
}

// setString makes the member called name of n the string value.
func (d *jsonDoc) setString(n node[hujson.Object], name, value string) error {
	i, err := d.find(n.at, name)
	if err != nil {
		return err
	}
	if i < 0 {
		return d.append(n, name, value)
	}
	v := &n.at.Members[i].Value
	if l, ok := v.Value.(hujson.Literal); !ok || l.Kind() != '"' || l.String() != value {
		return d.replace(v, n.indent, value)
	}
	return nil
}

// result returns the text of d, but data itself when nothing was edited: a
// blank file must not become {} for nothing.
func result(d *jsonDoc, data []byte) []byte {
	if out := d.bytes(); !bytes.Equal(bytes.TrimPrefix(out, utf8BOM), d.src) {
		return out
	}
	return data
}

func (e serverEditor) strip(path string, data, original []byte) ([]byte, error) {
	d, err := parseJSON(path, data)
	if err != nil {
		return nil, err
	}
	servers, err := d.object(d.top(), "mcpServers")
	if err != nil || servers.at == nil {
		return data, err
	}
	i, err := d.find(servers.at, serverName)
	if err != nil || i < 0 {
		return data, err
	}
	removeMember(servers.at, i)
	if len(servers.at.Members) == 0 && !hasMember(original, "mcpServers") {
		if i, err = d.find(d.top().at, "mcpServers"); err != nil {
			return nil, err
		}
		removeMember(d.top().at, i)
	}
	return d.bytes(), nil
}

func (e serverEditor) holds(data []byte) bool {
	v, ok := member(data, "mcpServers", serverName)
	return ok && isOurServer(v)
}

func (serverEditor) blank(data []byte) bool { return blankJSON(data) }

// isOurServer tells our entry from that of the original c2c, which starts
// c2c-mcp-server without arguments.
func isOurServer(v hujson.Value) bool {
	var entry struct{ Args []string }
	return decode(v, &entry) == nil && slices.Equal(entry.Args, []string{"mcp"})
}

// decode is json.Unmarshal for a part of a document with comments.
func decode(v hujson.Value, into any) error {
	v = v.Clone()
	v.Standardize()
	return json.Unmarshal(v.Pack(), into)
}

// member returns what is at the path of names in data, if that is an object
// with such a member.
func member(data []byte, names ...string) (v hujson.Value, ok bool) {
	d, err := parseJSON("", data)
	if err != nil {
		return v, false
	}
	v = d.root
	for _, name := range names {
		o, isObject := v.Value.(*hujson.Object)
		if !isObject {
			return v, false
		}
		i, err := d.find(o, name)
		if i < 0 || err != nil {
			return v, false
		}
		v = o.Members[i].Value
	}
	return v, true
}

func hasMember(data []byte, names ...string) bool {
	_, ok := member(data, names...)
	return ok
}

// blankJSON reports whether data is an empty object without a comment.
func blankJSON(data []byte) bool {
	white := bytes.TrimSpace(data)
	if len(white) == 0 {
		return true
	}
	return white[0] == '{' && len(bytes.TrimSpace(white[1:])) == 1
}

// errEdited says that a file which is ours as a whole is no longer what we wrote.
var errEdited = errors.New("edited since")

// scriptEditor owns the whole file.
type scriptEditor struct{ content []byte }

func (e scriptEditor) add(path string, _ []byte) ([]byte, error) {
	if len(e.content) == 0 {
		return nil, fmt.Errorf("write %s: the hook script is empty", path)
	}
	return e.content, nil
}

func (e scriptEditor) strip(_ string, data, _ []byte) ([]byte, error) {
	if !bytes.Equal(data, e.content) {
		return nil, errEdited
	}
	return []byte{}, nil
}

func (e scriptEditor) holds(data []byte) bool { return bytes.Equal(data, e.content) }
func (scriptEditor) blank(data []byte) bool   { return len(data) == 0 }
