package install

import (
	"path/filepath"

	"c2c/install/confedit"
)

// Cursor is Cursor's name in package client.
const Cursor = "cursor"

func init() { register(Cursor, cursor()) }

// cursor configures Cursor as the pages "mcp" and "agent/hooks" of Cursor's documentation say.
func cursor() setup {
	return setup{files: cursorFiles, overHTTP: true,
		notes: func(Options) []string {
			return []string{"run cursor-agent mcp enable c2c, if you use its CLI (Cursor could not be run in the tests of c2c)"}
		}}
}

func cursorFiles(o Options) []target {
	dir, _ := configDir(Cursor, o)
	server := mcpServer(Cursor, o, serverEntry{Type: "stdio"})
	server.http = o.HTTP
	hooks := commandHooks(Cursor, o, append(at("beforeSubmitPrompt", "postToolUse"), hookEvent{name: "stop", loops: 1}))
	hooks.flat = true
	return []target{
		{path: filepath.Join(dir, "mcp.json"), editor: server, private: o.HTTP != nil && o.HTTP.Runs},
		// Cursor ignores the whole file if the file has an event that Cursor does not know.
		{path: filepath.Join(dir, "hooks.json"), editor: cursorHooks{hooks}},
	}
}

// cursorHooks edits a file of hooks that has a version, and the commands directly below each event:
//
//	{"version": 1, "hooks": {EVENT: [{"command": …, "loop_limit": 1}]}}
type cursorHooks struct{ hookEditor }

const versionKey = "version"

func (cursorHooks) kind() string { return "cursor-hooks" }

func (e cursorHooks) add(path string, data []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		if _, there, err := d.Find(versionKey); err != nil {
			return err
		} else if there == 0 {
			if err := d.Put(1, versionKey); err != nil {
				return err
			}
		}
		return e.addAll(d)
	})
}

func (e cursorHooks) strip(path string, data, original []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		if err := e.stripAll(d, original); err != nil {
			return err
		}
		return stripVersion(d, original)
	})
}

// stripVersion removes the version that c2c has added. If the original had no hooks and a person
// has added some since then, it keeps the version, because these hooks need it. It also keeps the
// version in a file that c2c has made, if a person has added anything else.
func stripVersion(d *confedit.JSON, original []byte) error {
	v, there, err := d.Find(versionKey)
	if err != nil || there == 0 || confedit.Member(original, versionKey) != nil {
		return err
	}
	_, hooks, err := d.Find(hooksKey)
	if err == nil && (confedit.Member(original, hooksKey) != nil || hooks == 0 && (original != nil || confedit.Size(&d.Root) == 1)) {
		d.Remove(&d.Root, v)
	}
	return err
}
