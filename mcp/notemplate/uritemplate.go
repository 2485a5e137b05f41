// Package uritemplate stands in for the templates of resources that mcp-go links (go.mod replaces it): c2c has none. It has
// what mcp-go 1.2.1 calls, and refuses to work.
package uritemplate

import (
	"errors"
	"regexp"
)

var errNone = errors.New("c2c links no templates of URIs")

type (
	// Template is never made.
	Template struct{}
	// Values are what matches a template.
	Values map[string]Value
	// Value is one of them.
	Value struct{ V []string }
)

// New refuses.
func New(string) (*Template, error) { return nil, errNone }

// MustNew refuses.
func MustNew(string) *Template { panic(errNone) }

// Raw has nothing to tell.
func (*Template) Raw() string { return "" }

// Regexp matches nothing.
func (*Template) Regexp() *regexp.Regexp { panic(errNone) }

// Match finds nothing.
func (*Template) Match(string) Values { return nil }
