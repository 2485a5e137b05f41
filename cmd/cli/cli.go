// Package cli is what both programs have in common: the table of all verbs, from which come their options, help,
// completion and pages, and how errors and JSON are written.
package cli

import (
	"encoding/json"
	"io"
)

// JSON prints v as people can read it.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
