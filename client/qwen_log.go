package client

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// QwenNotes finds the messages of other sessions in lines of a session's record, and returns their
// texts.
func QwenNotes(lines []byte) (texts []string) {
	for line := range bytes.Lines(lines) {
		if !bytes.Contains(line, []byte(`"notification"`)) {
			continue // skip other lines cheaply, because tool results are long
		}
		var r struct {
			Type, Subtype string
			Message       struct{ Parts []struct{ Text string } }
		}
		if json.Unmarshal(line, &r) != nil || r.Type != "user" || r.Subtype != "notification" {
			continue
		}
		for _, p := range r.Message.Parts {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// QwenShows reports whether one of the texts from QwenNotes contains a message with this envelope.
// In these texts the client has replaced each "<" by "&lt;".
func QwenShows(texts []string, envelope string) bool {
	part := strings.ReplaceAll(envelope, "<", "&lt;")
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}
