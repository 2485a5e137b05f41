package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// replaceID replaces the id of a message by randomID, because mcp-go reads a number as a float, and so would change an id above
// 2^53. mcp-go writes randomID unchanged into the answer. If the message has no id, randomID is nil and the message stays as it is.
func replaceID(body, id []byte) (changed, randomID []byte) {
	if id == nil {
		return body, nil
	}
	randomID = []byte(`"` + rand.Text() + `"`)
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.Token() // {
	done := 0
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return body, nil
		}
		end := int(dec.InputOffset())
		start := end - len(value)
		if !bytes.Equal(body[start:end], value) {
			return body, nil
		}
		if name, _ := name.(string); strings.EqualFold(name, "id") { // ignore case, as encoding/json does
			changed = append(append(changed, body[done:start]...), randomID...)
			done = end
		}
	}
	return append(changed, body[done:]...), randomID
}
