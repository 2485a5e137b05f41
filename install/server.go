package install

import (
	"c2c/broker/doctor"

	"github.com/tailscale/hujson"
)

// serverName is the key of our MCP server in every client's configuration.
const serverName = "c2c"

// A serverEntry is an MCP server as the JSON files of most clients name it.
type serverEntry struct {
	Type       string            `json:"type,omitempty"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	AlwaysLoad bool              `json:"alwaysLoad,omitempty"`
}

// serverEditor puts mcpServers.c2c into a JSON file.
type serverEditor struct{ entry serverEntry }

const serversKey = "mcpServers"

// add replaces the entry of another implementation as a whole. Of our own it
// only corrects the command: people may have tuned the rest.
func (e serverEditor) add(path string, data []byte) ([]byte, error) {
	return editJSON(path, data, func(d *jsonDoc) error {
		v, there, err := d.find(serversKey, serverName)
		switch {
		case err != nil:
			return err
		case there == 2 && isOurServer(v):
			return d.put(e.entry.Command, serversKey, serverName, "command")
		}
		return d.put(e.entry, serversKey, serverName)
	})
}

func (e serverEditor) strip(path string, data, original []byte) ([]byte, error) {
	return editJSON(path, data, func(d *jsonDoc) error {
		v, there, err := d.find(serversKey, serverName)
		if err != nil || there < 2 {
			return err
		}
		d.remove(d.root.Find("/"+serversKey), v)
		d.removeEmpty(original, serversKey)
		return nil
	})
}

func (serverEditor) kind() string { return kindOfServers + "json" }

func (e serverEditor) holds(data []byte) bool {
	v := member(data, serversKey, serverName)
	return v != nil && isOurServer(v)
}

func (e serverEditor) inspect(t target, f *file, o Options) ([]doctor.Finding, error) {
	_, err := parseJSON(t.path, f.data)
	v := member(f.data, serversKey, serverName)
	if err != nil || v == nil {
		return nil, err
	}
	return []doctor.Finding{t.inspectServer(isOurServer(v), text(v.Find("/command")), o)}, nil
}

// isOurServer tells our entry from that of the original c2c, which starts
// c2c-mcp-server without arguments.
func isOurServer(v *hujson.Value) bool {
	args := elements(v.Find("/args"))
	return len(args) == 1 && text(args[0]) == "mcp"
}
