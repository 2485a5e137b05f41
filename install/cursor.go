package install

import (
	"path/filepath"
	"slices"

	"c2c/broker/doctor"

	"github.com/tailscale/hujson"
)

// Cursor is the name of the client.
const Cursor = "cursor"

// cursor sets Cursor up: mcp and agent/hooks in its documentation.
func cursor() setup {
	return setup{name: Cursor, files: cursorFiles, overHTTP: true,
		notes: func(Options) []string {
			return []string{"run cursor-agent mcp enable c2c, if you use its CLI (Cursor could not be run in the tests of c2c)"}
		}}
}

func cursorFiles(o Options) []target {
	dir, _ := configDir(Cursor, o)
	server := mcpServer(Cursor, o, serverEntry{Type: "stdio"})
	server.http = o.HTTP
	return []target{
		{path: filepath.Join(dir, "mcp.json"), editor: server, private: o.HTTP != nil && o.HTTP.Runs},
		// Cursor ignores the whole file for one event that it does not know.
		{path: filepath.Join(dir, "hooks.json"), editor: cursorHooks{commandHooks(Cursor, o, hookEvent{name: "beforeSubmitPrompt"}, hookEvent{name: "postToolUse"}, hookEvent{name: cursorStop})}},
	}
}

// cursorHooks has the entries of hookEditor without a group around them, in a file with a version:
//
//	{"version": 1, "hooks": {EVENT: [{"command": …, "loop_limit": 1}]}}
type cursorHooks struct{ hookEditor }

type cursorHook struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Loops   int    `json:"loop_limit,omitempty"`
}

const (
	versionKey = "version"
	cursorStop = "stop"
)

func (cursorHooks) kind() string { return "cursor-hooks" }

func (e cursorHooks) add(path string, data []byte) ([]byte, error) {
	return editJSON(path, data, func(d *jsonDoc) error {
		if _, there, err := d.find(versionKey); err != nil {
			return err
		} else if there == 0 {
			if err := d.put(1, versionKey); err != nil {
				return err
			}
		}
		for _, event := range e.events {
			entry := cursorHook{Command: e.command, Timeout: hookTimeout}
			if event.name == cursorStop {
				entry.Loops = 1
			}
			if err := e.addTo(d, event.name, entry); err != nil {
				return err
			}
		}
		return nil
	})
}

// addTo makes sure that an event has our command once. What a person has tuned stays.
func (e cursorHooks) addTo(d *jsonDoc, event string, entry cursorHook) error {
	entries, err := d.array(hooksKey, event)
	if err != nil {
		return err
	}
	if entries == nil {
		return d.put([]cursorHook{entry}, hooksKey, event)
	}
	ours := e.own(entries)
	if len(ours) == 0 {
		return d.insert(entries, "", entry)
	}
	for _, extra := range slices.Backward(ours[1:]) {
		d.remove(entries, extra)
	}
	return d.replace(ours[0].Find("/command"), e.command)
}

// own gives our entries; entries may be nil.
func (e cursorHooks) own(entries *hujson.Value) (ours []*hujson.Value) {
	for _, entry := range elements(entries) {
		if e.ours(text(entry.Find("/command"))) {
			ours = append(ours, entry)
		}
	}
	return ours
}

func (e cursorHooks) strip(path string, data, original []byte) ([]byte, error) {
	return editJSON(path, data, func(d *jsonDoc) error {
		for _, event := range e.events {
			entries, err := d.array(hooksKey, event.name)
			if err != nil {
				return err
			}
			ours := e.own(entries)
			for _, entry := range slices.Backward(ours) {
				d.remove(entries, entry)
			}
			if len(ours) > 0 {
				d.removeEmpty(original, hooksKey, event.name)
			}
		}
		return stripVersion(d, original)
	})
}

// stripVersion takes our version out, unless hooks that a person has added since need it.
func stripVersion(d *jsonDoc, original []byte) error {
	v, there, err := d.find(versionKey)
	if err != nil || there == 0 || member(original, versionKey) != nil {
		return err
	}
	_, hooks, err := d.find(hooksKey)
	_, kids := children(&d.root)
	if err == nil && (member(original, hooksKey) != nil || hooks == 0 && (original != nil || len(kids) == 1)) {
		d.remove(&d.root, v)
	}
	return err
}

func (e cursorHooks) holds(data []byte) bool {
	return slices.ContainsFunc(e.events, func(event hookEvent) bool { return len(e.own(member(data, hooksKey, event.name))) > 0 })
}

func (e cursorHooks) inspect(t target, f *file, o Options) ([]doctor.Finding, error) {
	if _, err := parseJSON(t.path, f.data); err != nil {
		return nil, err
	}
	return e.inspectEvents(t, o, func(event hookEvent) (found []hookFound) {
		for _, entry := range e.own(member(f.data, hooksKey, event.name)) {
			found = append(found, hookFound{text(entry.Find("/command")), false})
		}
		return found
	}), nil
}
