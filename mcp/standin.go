package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// standIn gives a message with another id, which nobody can guess and which comes back as it is. mcp-go takes a number for a
// float: one above 2^53 would come back as another one. stands is nil, and the message is as it was, where it has no id.
func standIn(body, id []byte) (changed, stands []byte) {
	if id == nil {
		return body, nil
	}
	stands = []byte(`"` + rand.Text() + `"`)
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
		if name, _ := name.(string); strings.EqualFold(name, "id") { // as it is decoded
			changed = append(append(changed, body[done:start]...), stands...)
			done = end
		}
	}
	return append(changed, body[done:]...), stands
}
