package install

import (
	"encoding/json"
	"path/filepath"

	"c2c/install/confedit"

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
	Trust      bool              `json:"trust,omitempty"` // its tools run without asking
}

// ServerEntry is our MCP server in JSON as most clients want it, for a client that PlanInstall does not know. Many
// clients start a server with an environment of their own: what says here where the mail is stands in it.
func ServerEntry(o Options) ([]byte, error) {
	env := map[string]string{}
	for _, name := range []string{"C2C_MCP_BROKER_ROOT", "XDG_STATE_HOME"} {
		if v := o.Getenv(name); v != "" {
			if name == "C2C_MCP_BROKER_ROOT" && !filepath.IsAbs(v) {
				v = filepath.Join(o.Project, v) // the client may start its servers elsewhere
			}
			env[name] = v
		}
	}
	entry := serverEntry{Type: "stdio", Command: o.Binary, Args: []string{"mcp"}, Env: env}
	text, err := json.MarshalIndent(map[string]any{serversKey: map[string]any{serverName: entry}}, "", "  ")
	return append(text, '\n'), err
}

// serverEditor puts an MCP server into a JSON file, as the member c2c of the object key.
type serverEditor struct {
	key     string
	entry   any
	command any    // what the entry has under "command"
	without string // a member that is taken out of an entry of ours
	http    *HTTP  // the daemon, where the client can have the tools through it; nil: an entry of that kind stays
}

// trustKey is the member by which some clients call a server's tools without asking.
const trustKey = "trust"

const serversKey = "mcpServers"

// mcpServer puts our MCP server where most clients have theirs, with what the client wants more of an entry.
func mcpServer(client string, o Options, more serverEntry) serverEditor {
	more.Command, more.Args, more.Env = o.Binary, []string{"mcp"}, map[string]string{"C2C_MCP_CLIENT_TYPE": client}
	e := serverEditor{key: serversKey, entry: more, command: o.Binary}
	if o.Ask {
		e.without = trustKey
	}
	return e
}

// trusted says whether the entry of our server in the file at path has its tools called without asking.
func trusted(path string) bool {
	return confedit.On(dataAt(path), serversKey, serverName, trustKey)
}

// add replaces the entry of another implementation as a whole. Of our own it
// only corrects the command: people may have tuned the rest.
func (e serverEditor) add(path string, data []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		v, there, err := d.Find(e.key, serverName)
		switch {
		case err != nil:
			return err
		case e.http != nil && e.http.Runs:
			return e.addHTTP(d, v, there == 2 && isRemote(v))
		case there == 2 && isRemote(v) && e.http == nil:
			return nil // it was set up so; an update changes nothing there
		case there == 2 && isOurServer(v) && !isRemote(v):
			if own := v.Find("/" + e.without); e.without != "" && own != nil {
				d.Remove(v, own)
			}
			return d.Put(e.command, e.key, serverName, "command")
		}
		return d.Put(e.entry, e.key, serverName)
	})
}

// strip leaves an entry of a person's own, and brings back one that add has replaced. Where nothing is known of the
// file, ours is what names its client.
func (e serverEditor) strip(path string, data, original []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		v, there, err := d.Find(e.key, serverName)
		if err != nil || there < 2 || !isOurServer(v) || original == nil && !namesClient(v) {
			return err
		}
		if own := confedit.Member(original, e.key, serverName); own != nil {
			d.Restore(v, own)
			return nil
		}
		d.Remove(d.At(e.key), v)
		d.RemoveEmpty(original, e.key)
		return nil
	})
}

func (serverEditor) kind() string { return kindOfServers + "json" }

func (e serverEditor) find(f *file) (part, error) {
	_, err := confedit.ParseJSON(f.path, f.data)
	v := confedit.Member(f.data, e.key, serverName)
	if err != nil || v == nil {
		return part{}, err
	}
	s := server{ours: isOurServer(v), command: commandLine(v)[0]}
	if isRemote(v) {
		s.url, s.key = remoteURL(v), confedit.Text(v.Find("/headers/"+keyHeader))
	}
	switch enabled := v.Find("/enabled"); {
	case enabled != nil && !confedit.IsTrue(enabled):
		s.off = notEnabled
	case confedit.IsTrue(v.Find("/disabled")):
		s.off = "disabled is true in its entry, so the client does not start it; take that out there"
	}
	return s.part(f), nil
}

// isOurServer tells our entry from that of the original c2c, which starts
// c2c-mcp-server without arguments.
func isOurServer(v *hujson.Value) bool {
	words := commandLine(v)
	return len(words) == 2 && words[1] == "mcp" || isRemote(v)
}

// namesClient tells what add writes from what a person may have pasted (ServerEntry).
func namesClient(v *hujson.Value) bool {
	return confedit.Text(v.Find("/headers/"+projectHeader)) == windowProject || v.Find("/env/C2C_MCP_CLIENT_TYPE") != nil || v.Find("/environment/C2C_MCP_CLIENT_TYPE") != nil
}

// commandLine is what a server's entry runs: some clients have all of it in one array. It has at least one word.
func commandLine(v *hujson.Value) []string {
	words := confedit.Texts(v.Find("/command"))
	if len(words) == 0 {
		words = []string{confedit.Text(v.Find("/command"))}
	}
	return append(words, confedit.Texts(v.Find("/args"))...)
}

// addHTTP writes the entry. Of one that is ours it corrects the URL and the key alone: people may have tuned the rest.
func (e serverEditor) addHTTP(d *confedit.JSON, v *hujson.Value, ours bool) error {
	key := bearer + e.http.Token
	if !ours {
		return d.Put(remoteEntry{e.http.URL, map[string]string{keyHeader: key, projectHeader: windowProject}}, e.key, serverName)
	}
	if confedit.Text(v.Find("/url")) != e.http.URL {
		if err := d.Put(e.http.URL, e.key, serverName, "url"); err != nil {
			return err
		}
	}
	if confedit.Text(v.Find("/headers/"+keyHeader)) == key {
		return nil
	}
	return d.Put(key, e.key, serverName, "headers", keyHeader)
}
