// Package cli is how both programs read their command lines, show their options, report errors and print JSON.
package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Words reads the flags, which may stand before, between and behind the words, and returns the words. After
// -- all are words.
func Words(fs *flag.FlagSet, args []string) (words []string, err error) {
	fs.SetOutput(io.Discard) // the caller writes help and errors
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(words, rest...), nil
		}
		if len(rest) == 0 {
			return words, nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

// Options writes a line for each flag.
func Options(w io.Writer, fs *flag.FlagSet) {
	before := "\noptions:\n"
	fs.VisitAll(func(f *flag.Flag) {
		name, usage := option(f)
		fmt.Fprintf(w, "%s  %-22s %s\n", before, name, usage)
		before = ""
	})
}

// option gives a flag as one types it, and what it does.
func option(f *flag.Flag) (name, usage string) {
	value, usage := flag.UnquoteUsage(f)
	name = "--" + f.Name
	if len(f.Name) == 1 {
		name = "-" + f.Name
	}
	alone, ok := f.Value.(interface{ IsBoolFlag() bool })
	switch {
	case value == "":
		return name, usage
	case ok && alone.IsBoolFlag():
		return name + "[=" + value + "]", usage
	}
	return name + " " + value, usage
}

// Report writes an error for a person, each line with the name of the program, and a hint if there is one.
func Report(w io.Writer, err error, hint string) {
	words := strings.TrimPrefix(err.Error(), "usage: ")
	if hint != "" {
		words += "\nhint: " + hint
	}
	fmt.Fprintf(w, "c2c: %s\n", strings.ReplaceAll(words, "\n", "\nc2c: "))
}

// JSON prints v as people can read it.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
