// Package cli is what both programs have in common: the table of all verbs, from which come their options, help,
// completion and pages, and how errors and JSON are written.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// hinted is an error that knows what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// WithHint adds to an error what to do about it.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return hinted{err, hint}
}

// Failure is an error as it is told: with what to do about it, and the exit status.
type Failure struct {
	Message string `json:"error"`
	Hint    string `json:"hint,omitempty"`
	Exit    int    `json:"exit"`
}

// NewFailure takes the hint from the error, if it has one.
func NewFailure(err error, hint string, exit int) Failure {
	var h hinted
	if errors.As(err, &h) {
		hint = h.hint
	}
	return Failure{strings.TrimPrefix(err.Error(), ErrUsage.Error()+": "), hint, exit}
}

// Report writes an error for a person, each line with the name of the program. With --json among the arguments it is
// one line of JSON instead.
func Report(w io.Writer, f Failure, args []string) {
	if wantsJSON(args) {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.Encode(f) // nobody is left to tell
		return
	}
	words := f.Message
	if f.Hint != "" {
		words += "\nhint: " + strings.ReplaceAll(f.Hint, "\n", "\nhint: ")
	}
	fmt.Fprintf(w, "c2c: %s\n", strings.ReplaceAll(words, "\n", "\nc2c: "))
}

// wantsJSON looks at the arguments themselves: the mistake may stand before --json.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// JSON prints v as people can read it.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
