package install

import (
	"encoding/json"
	"path/filepath"

	"github.com/tailscale/hujson"

	"c2c/install/confedit"
)

// serverName is the key of our MCP server in every client's configuration.
const serverName = "c2c"

// A serverEntry is the entry of an MCP server in the JSON files of most clients.
type serverEntry struct {
	Type       string            `json:"type,omitempty"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	AlwaysLoad bool              `json:"alwaysLoad,omitempty"`
	Trust      bool              `json:"trust,omitempty"` // the client runs the server's tools without asking
}

// ServerEntry returns our MCP server's entry in JSON, in the usual form, for a client that
// PlanInstall does not know. Many clients start a server with another environment than that of this
// process, so the entry holds the variables that determine where the mail is.
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

// serverEditor puts our MCP server into a JSON file, as the member c2c of an object. The field key
// is the name of that object.
type serverEditor struct {
	key     string
	entry   any
	command any    // the value of the entry's member command
	without string // a member that the method add removes from our entry; "": none
	http    *HTTP  // the daemon, if install may set the tools up over HTTP; nil: the method add leaves an entry over HTTP as it is
}

// trustKey is the member that lets some clients call a server's tools without asking.
const trustKey = "trust"

const serversKey = "mcpServers"

// mcpServer returns an editor that puts our MCP server where most clients have their servers. The
// argument more has the members that only this client needs.
func mcpServer(client string, o Options, more serverEntry) serverEditor {
	more.Command, more.Args, more.Env = o.Binary, []string{"mcp"}, map[string]string{"C2C_MCP_CLIENT_TYPE": client}
	e := serverEditor{key: serversKey, entry: more, command: o.Binary}
	if o.Ask {
		e.without = trustKey
	}
	return e
}

// trusted reports whether our server's entry in the file at path lets the client call its tools
// without asking.
func trusted(path string) bool {
	return confedit.On(Content(path), serversKey, serverName, trustKey)
}

// add replaces the entry of another implementation. In our own entry it corrects only the command,
// because people may have changed the rest.
func (e serverEditor) add(path string, data []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		v, there, err := d.Find(e.key, serverName)
		switch {
		case err != nil:
			return err
		case e.http != nil && e.http.Runs:
			return e.addHTTP(d, v, there == 2 && isRemote(v))
		case there == 2 && isRemote(v) && e.http == nil:
			return nil // the tools are set up over HTTP, and an update does not change that
		case there == 2 && isOurServer(v) && !isRemote(v):
			if own := v.Find("/" + e.without); e.without != "" && own != nil {
				d.Remove(v, own)
			}
			return d.Put(e.command, e.key, serverName, "command")
		}
		return d.Put(e.entry, e.key, serverName)
	})
}

// strip removes our entry, or restores the entry that add has replaced. It keeps an entry that a
// person has written. If the original content is not known, an entry counts as ours if namesClient
// is true.
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

func (e serverEditor) find(f *File) (part, error) {
	_, err := confedit.ParseJSON(f.Path, f.Data)
	v := confedit.Member(f.Data, e.key, serverName)
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
		s.off = "disabled is true in the entry, so the client does not start the server; remove that from the file"
	}
	return s.part(f), nil
}

// isOurServer distinguishes our entry from that of the OCaml c2c, which starts c2c-mcp-server
// without arguments.
func isOurServer(v *hujson.Value) bool {
	words := commandLine(v)
	return len(words) == 2 && words[1] == "mcp" || isRemote(v)
}

// namesClient reports whether an entry names its client, as those that add writes. An entry that a
// person has pasted (ServerEntry) does not.
func namesClient(v *hujson.Value) bool {
	return confedit.Text(v.Find("/headers/"+projectHeader)) == windowProject || v.Find("/env/C2C_MCP_CLIENT_TYPE") != nil || v.Find("/environment/C2C_MCP_CLIENT_TYPE") != nil
}

// commandLine returns the command line of a server's entry, at least one word. Some clients have
// the whole command line in one array.
func commandLine(v *hujson.Value) []string {
	words := confedit.Texts(v.Find("/command"))
	if len(words) == 0 {
		words = []string{confedit.Text(v.Find("/command"))}
	}
	return append(words, confedit.Texts(v.Find("/args"))...)
}

// addHTTP writes the entry over HTTP. In an entry of ours it corrects only the URL and the token,
// because people may have changed the rest.
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
