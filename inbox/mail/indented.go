package mail

import (
	"bytes"
	"encoding/json"
)

// LineRoom is about the number of bytes that the line of a message has besides its content.
const LineRoom = 320

// Indented writes messages as an array that people can read, with two spaces per level.
func Indented(msgs []Message) []byte {
	line := []byte("[")
	for i, m := range msgs {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(m.AppendFields(line, "{"), '}')
	}
	line = append(line, ']')
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil { // a message is valid JSON
		return append(line, '\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}
