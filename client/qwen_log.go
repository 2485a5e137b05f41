package client

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// QwenNotes returns the texts from other sessions in the lines of a session's record.
func QwenNotes(lines []byte) (texts []string) {
	for line := range bytes.Lines(lines) {
		if !bytes.Contains(line, []byte(`"notification"`)) {
			continue // tool results are long
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

// QwenShows reports whether one of these texts has a message with this envelope. The client replaces each "<" by "&lt;".
func QwenShows(texts []string, envelope string) bool {
	part := strings.ReplaceAll(envelope, "<", "&lt;")
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}
