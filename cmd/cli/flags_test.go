package cli

import (
	"errors"
	"strings"
	"testing"
)

// An option that silently replaces an earlier one hides what its caller has asked for.
func TestAnOptionHasOneValue(t *testing.T) {
	verb := Verb{Name: "allow", Args: "<name>", Options: []Option{
		{Name: "to", Also: "for", Value: "aliases", Short: "to whom, with commas"},
		{Name: "kind", Value: "word"}, {Name: "json"},
	}}
	for line, want := range map[string]string{
		"ci --to amber --to birch":    `--to was given twice, as "amber" and as "birch": give it once, with commas`,
		"ci --kind=ack --kind status": `--kind was given twice, as "ack" and as "status": give it once`,
		"ci --to amber --for amber":   "--to and --for are the same",
		"ci --to amber --to amber":    "",
		"ci --json --json":            "",
	} {
		f := NewFlags(verb)
		f.Text("to")
		f.Text("kind")
		f.Bool("json")
		_, err := f.Parse(strings.Fields(line))
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
