// Package cli has the table of all verbs of the programs c2c and c2cd, and makes options, help,
// completion and pages from the table. It also writes errors and JSON, so that both programs do it
// in the same form.
package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"c2c/inbox/mail"
)

// Printf prints a part of an answer. It escapes line ends and control characters in the words, so
// that no foreign text begins a new line.
func Printf(w io.Writer, format string, words ...any) {
	for i, word := range words {
		if s, ok := word.(string); ok {
			words[i] = mail.Visible(s, "")
		}
	}
	fmt.Fprintf(w, format, words...)
}

// JSON prints v indented, for people to read.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// ExitStatus ends a program with this status, and prints nothing more.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// PrintStatus prints the status of something that may run. Unless up is true, the program then exits
// with Nothing, so that a script can test that.
func PrintStatus(w io.Writer, st interface{ Print(io.Writer) }, up bool, err error, asJSON bool) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		err = JSON(w, st)
	default:
		st.Print(w)
	}
	if err == nil && !up {
		err = ExitStatus(Nothing)
	}
	return err
}
