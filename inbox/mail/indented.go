package mail

import (
	"bytes"
	"encoding/json"

	"c2c/internal/fields"
)

// LineRoom is about the number of bytes that the line of a message has besides its content.
const LineRoom = 320

// Indented writes messages as an array that people can read, with two spaces per level. The result equals that of encoding/json, but
// takes a third of the time, which matters because a mailbox may have 20,000 messages.
func Indented(msgs []Message) []byte {
	if len(msgs) == 0 {
		return []byte("[]\n")
	}
	size := 0
	for i := range msgs {
		size += len(msgs[i].Content) + LineRoom
	}
	b := append(make([]byte, 0, size), '[')
	var line []byte
	for i := range msgs {
		if i > 0 {
			b = append(b, ',')
		}
		line = append(msgs[i].AppendFields(line[:0], "{"), '}')
		b = appendIndented(append(b, "\n  "...), line, len(msgs[i].Extra) == 0)
	}
	return append(b, "\n]\n"...)
}

// appendIndented indents an object. If flat is set, the object has in it no array, no object, and no space between its fields.
func appendIndented(b, object []byte, flat bool) []byte {
	if !flat {
		buf := bytes.NewBuffer(b)
		if err := json.Indent(buf, object, "  ", "  "); err != nil { // a message is valid JSON
			return append(b, object...)
		}
		return buf.Bytes()
	}
	const margin = "\n    "
	b = append(append(b, '{'), margin...)
	name := true
	for rest := object[1 : len(object)-1]; len(rest) > 0; {
		n := fields.Span(rest)
		b = append(b, rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
		if b = append(b, rest[0]); name {
			b = append(b, ' ')
		} else {
			b = append(b, margin...)
		}
		name, rest = !name, rest[1:]
	}
	return append(b, "\n  }"...)
}
