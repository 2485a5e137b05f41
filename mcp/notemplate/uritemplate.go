// Package uritemplate is a stub in place of github.com/yosida95/uritemplate, which mcp-go imports; go.mod replaces the
// module by this stub. c2c uses no URI template. The stub has the functions that mcp-go 1.2.1 calls; they return an error
// or panic.
package uritemplate

import (
	"errors"
	"regexp"
)

var errNone = errors.New("c2c links no templates of URIs")

type (
	// Template has no value: New always fails.
	Template struct{}
	// Values are the matches of a template.
	Values map[string]Value
	// Value is one match.
	Value struct{ V []string }
)

// New returns an error.
func New(string) (*Template, error) { return nil, errNone }

// MustNew panics.
func MustNew(string) *Template { panic(errNone) }

// Raw returns "".
func (*Template) Raw() string { return "" }

// Regexp panics.
func (*Template) Regexp() *regexp.Regexp { panic(errNone) }

// Match returns nil.
func (*Template) Match(string) Values { return nil }
