// Package cli is what both programs have in common: the table of all verbs, from which come their options, help,
// completion and pages, and how errors and JSON are written.
package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"c2c/inbox/mail"
)

// Printf prints a part of an answer. A word that others chose stays on its line.
func Printf(w io.Writer, format string, words ...any) {
	for i, word := range words {
		if s, ok := word.(string); ok {
			words[i] = mail.Visible(s, "")
		}
	}
	fmt.Fprintf(w, format, words...)
}

// JSON prints v as people can read it.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
