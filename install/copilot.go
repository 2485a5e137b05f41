package install

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"

	"c2c/broker/doctor"

	"github.com/tailscale/hujson"
)

// Copilot is the name of the client.
const Copilot = "copilot"

// copilot sets GitHub Copilot CLI up. Its extensions are experimental, and off without the flag.
func copilot() setup {
	return setup{name: Copilot, files: copilotFiles, notes: func(Options) []string {
		return []string{"Copilot sessions that are running see the change after a restart.",
			"Copilot now runs every extension that it finds (enabledFeatureFlags.EXTENSIONS), not c2c's alone."}
	}}
}

//go:embed copilot.mjs
var copilotExtension []byte

func copilotFiles(o Options) []target {
	dir, _ := configDir(Copilot, o)
	return []target{
		{path: filepath.Join(dir, "extensions", "c2c", "extension.mjs"), mode: 0o644, editor: scriptEditor{"extension", runs(copilotExtension, o.Binary)}},
		{path: filepath.Join(dir, "settings.json"), editor: flagEditor{[]string{"enabledFeatureFlags", "EXTENSIONS"}}},
		{path: filepath.Join(dir, "mcp-config.json"), editor: serverEditor{serversKey, copilotEntry{
			"local", o.Binary, []string{"mcp"}, map[string]string{"C2C_MCP_CLIENT_TYPE": Copilot}, []string{"*"}}, o.Binary}},
	}
}

type copilotEntry struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Tools   []string          `json:"tools"`
}

// runs is a script of ours with the path of c2c written into it.
func runs(script []byte, binary string) []byte { return constant(script, "c2c", binary) }

// constant is a script of ours in which a constant that is its own name gets a value.
func constant(script []byte, name, value string) []byte {
	text, _ := json.Marshal(value)
	return bytes.Replace(script, fmt.Appendf(nil, "const %s = %q", name, name), fmt.Appendf(nil, "const %s = %s", name, text), 1)
}

// flagEditor sets one flag in a JSON file to true. It is taken out, or gets the person's value back, only when the
// record shows what was there before.
type flagEditor struct{ names []string }

func (flagEditor) kind() string { return "flag" }

func (e flagEditor) add(path string, data []byte) ([]byte, error) {
	return editJSON(path, data, func(d *jsonDoc) error { return d.put(true, e.names...) })
}

func (e flagEditor) strip(path string, data, original []byte) ([]byte, error) {
	if original == nil {
		return data, nil
	}
	return editJSON(path, data, func(d *jsonDoc) error {
		v, there, err := d.find(e.names...)
		if err != nil || there < len(e.names) {
			return err
		}
		if was := member(original, e.names...); was != nil {
			before, ok := was.Value.(hujson.Literal)
			if now, on := v.Value.(hujson.Literal); !ok || !on || now.Kind() != 't' {
				return nil // not ours any more
			}
			return d.put(json.RawMessage(before), e.names...)
		}
		above := e.names[:len(e.names)-1]
		d.remove(d.root.Find(pointer(above)), v)
		d.removeEmpty(original, above...)
		return nil
	})
}

func (e flagEditor) holds(data []byte) bool { return false }

func (e flagEditor) inspect(t target, f *file, _ Options) ([]doctor.Finding, error) {
	v := member(f.data, e.names...)
	if !isTrue(v) {
		return nil, nil
	}
	return []doctor.Finding{}, nil // it is there, and says nothing of whether we are
}
